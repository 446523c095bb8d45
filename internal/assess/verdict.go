package assess

import (
	"slices"
	"strings"
)

// verdict says whether a facade with its default flags serves a use.
type verdict struct {
	served bool
	why    string // reason why the facade does not serve the use; empty if it does
}

const (
	becauseWrite       = "writes"
	becauseConnection  = "exec, logs and other subresources"
	becauseSecret      = "Secrets"
	becauseLease       = "leases"
	becauseAggregated  = "aggregated APIs"
	becauseServer      = "health and metrics of kube-apiserver itself"
	becauseImpersonate = "impersonation"
	becauseReview      = "reviews"
	becauseOwn         = "kube-apiserver's requests to itself"
	becauseFolded      = "too rare to be counted separately"
)

// servedPaths are documents that the facade caches.
var servedPaths = []string{"/api", "/apis", "/openapi", "/version"}

// aggregated are the groups that another server usually serves. They are used if the sizes of resources are unknown.
var aggregated = []string{"metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"}

// apiServerUser is the user of kube-apiserver's requests to itself. These requests cannot be sent to a facade.
const apiServerUser = "system:apiserver"

// judge returns the verdict, with the first reason that applies.
func judge(u *use, known sizes) verdict {
	switch {
	case u.resource == Others:
		return verdict{why: becauseFolded}
	case u.User == apiServerUser:
		return verdict{why: becauseOwn}
	case u.group == "authentication.k8s.io", u.group == "authorization.k8s.io":
		return verdict{why: becauseReview}
	case u.verb != getVerb && u.verb != listVerb && u.verb != watchVerb:
		return verdict{why: becauseWrite}
	case u.impersonates:
		return verdict{why: becauseImpersonate}
	case strings.HasPrefix(u.resource, "/"):
		if slices.Contains(servedPaths, u.resource) {
			return verdict{served: true}
		}
		return verdict{why: becauseServer}
	case u.subresource != "":
		return verdict{why: becauseConnection}
	case u.group == "" && u.resource == "secrets":
		return verdict{why: becauseSecret}
	case u.group == "coordination.k8s.io" && u.resource == "leases":
		return verdict{why: becauseLease}
	case known.aggregated(u.group, u.resource):
		return verdict{why: becauseAggregated}
	}
	return verdict{served: true}
}

// refused reports whether the facade refuses a use that it does not serve, instead of forwarding it. The facade
// forwards reads with the caller's token, but cannot forward a client certificate.
func (v verdict) refused(u *use) bool {
	switch v.why {
	case "", becauseFolded:
		return false
	case becauseWrite, becauseImpersonate, becauseOwn:
		return true
	}
	return u.certificate
}
