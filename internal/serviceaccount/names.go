package serviceaccount

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

const (
	userPrefix  = "system:serviceaccount:"
	groupPrefix = "system:serviceaccounts:"
	allGroup    = "system:serviceaccounts"
)

// Keys of a user's extra fields. They name the pod and the node of the user's token, and the ID of the token.
const (
	PodName  = "authentication.kubernetes.io/pod-name"
	PodUID   = "authentication.kubernetes.io/pod-uid"
	NodeName = "authentication.kubernetes.io/node-name"
	NodeUID  = "authentication.kubernetes.io/node-uid"

	CredentialID = "authentication.kubernetes.io/credential-id"
)

// Username returns the user name of a service account.
func Username(namespace, name string) string { return userPrefix + namespace + ":" + name }

// Split returns the namespace and the name of a service account; ok is false for all other user names.
func Split(username string) (namespace, name string, ok bool) {
	namespaced, ok := strings.CutPrefix(username, userPrefix)
	if !ok {
		return "", "", false
	}
	// A second colon becomes part of the name, which is then invalid.
	namespace, name, ok = strings.Cut(namespaced, ":")
	if !ok || len(validation.ValidateNamespaceName(namespace, false)) > 0 ||
		len(validation.ValidateServiceAccountName(name, false)) > 0 {
		return "", "", false
	}
	return namespace, name, true
}

// Groups returns the groups of the service accounts in a namespace.
func Groups(namespace string) []string { return []string{allGroup, groupPrefix + namespace} }
