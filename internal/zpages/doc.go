// Package zpages implements /statusz and /flagz as in Kubernetes 1.37. The default response is text. If the Accept
// header names the kind Statusz or Flagz of config.k8s.io/v1beta1 or v1alpha1, the response is an object of that kind.
//
// The kinds and the rules of negotiation come from k8s.io/apiserver. Its handlers are not used, because they would link
// large parts of kube-apiserver into the program. A test suite compares the responses with kube-apiserver's.
//
// The package hides the value of a flag with the annotation "classified", and the user name and password in a URL.
//
// The package has no HTTP handler. Package handlers negotiates with Codecs and Restrictions, and writes the results of
// Text and Object.
package zpages
