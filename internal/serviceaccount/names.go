package serviceaccount

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

const (
	userPrefix  = "system:serviceaccount:"
	groupPrefix = "system:serviceaccounts:"
	everyOne    = "system:serviceaccounts" // the group of all
)

// Keys of a user's extra: what its token is bound to, and where that runs.
const (
	PodName  = "authentication.kubernetes.io/pod-name"
	PodUID   = "authentication.kubernetes.io/pod-uid"
	NodeName = "authentication.kubernetes.io/node-name"
	NodeUID  = "authentication.kubernetes.io/node-uid"
)

// Username is the user's name of a service account.
func Username(namespace, name string) string { return userPrefix + namespace + ":" + name }

// Split takes a user's name apart; ok is false for one that no service account can have.
func Split(username string) (namespace, name string, ok bool) {
	namespaced, ok := strings.CutPrefix(username, userPrefix)
	if !ok {
		return "", "", false
	}
	// A second colon is in the name then, where it is not valid.
	namespace, name, ok = strings.Cut(namespaced, ":")
	if !ok || len(validation.ValidateNamespaceName(namespace, false)) > 0 || len(validation.ValidateServiceAccountName(name, false)) > 0 {
		return "", "", false
	}
	return namespace, name, true
}

// Groups are the groups of a namespace's service accounts.
func Groups(namespace string) []string { return []string{everyOne, groupPrefix + namespace} }
