// Package zpages is what Kubernetes' components tell of themselves at /statusz and /flagz, in the forms of 1.37: text
// for people, and the kinds Statusz and Flagz of config.k8s.io, v1beta1 and v1alpha1, for programs that name them in
// their Accept header.
//
// The kinds, and which of them may be asked for, are of k8s.io/apiserver; its handlers are not used, since they bring
// half of kube-apiserver with them. A suite compares the answers with kube-apiserver's.
//
// It promises that of a flag with the annotation "classified" no value is told, nor the user and password in a URL.
//
// It knows nothing of requests: handlers negotiate by Codecs and Restrictions, and write what Text and Object return.
package zpages
