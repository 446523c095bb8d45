package handlers

import (
	"context"
	"net/http"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
)

// PassThroughAs selects the upstream credentials of forwarded requests.
type PassThroughAs int

// Values of PassThroughAs. With each, the facade forwards an authorized read of cacheable objects with its own
// credentials if it cannot use the caller's. Except with PassNothing, requests of anonymous callers are forwarded
// without credentials (docs/adr/0012-in-whose-name.md).
const (
	PassAsToken         PassThroughAs = iota // the caller's token, if it authenticated the caller
	PassAsImpersonation                      // the caller's token, or else constrained impersonation (KEP-5284)
	PassNothing                              // only reads of cacheable objects, with the facade's credentials
)

// passedThrough reports whether the upstream authorizes the request, because it is forwarded under the caller's
// identity.
func (v *resolver) passedThrough(q *Request) bool {
	if q.subject.own() || answersReview(q) || !isCanonical(q.url.Path) || v.passAs == PassNothing &&
		q.Caller.Way != auth.ByKubeconfig {
		return false
	}
	if q.hasOwnCredentials() {
		return q.reason != ""
	}
	// If the upstream does not have the resource, no permission to impersonate exists for it. The authorizer decides.
	return q.reason != "" && q.reason != observe.Undiscovered && v.passAs == PassAsImpersonation && !q.mayBeCached()
}

// hasOwnCredentials reports whether the request can be forwarded with the caller's own credentials. A token outside the
// Authorization header, as browsers send it with a websocket, is not forwarded.
func (q *Request) hasOwnCredentials() bool {
	switch q.Caller.Way {
	case auth.ByKubeconfig, auth.Anonymously:
		return true
	case auth.ByToken:
		return q.token != ""
	default:
		return false
	}
}

// mayBeCached reports whether the cache may contain the requested objects. An authorized caller may then read them with
// the facade's credentials, as from a lane.
func (q *Request) mayBeCached() bool {
	if q.method != http.MethodGet {
		return false
	}
	return q.subject == aboutDocument || q.resource.Cacheable
}

// credentials returns the upstream credentials of a forwarded request. If there are none, its error is the response.
func (s *Server) credentials(ctx context.Context, q *Request) (upstream.Credentials, error) {
	as := s.resolver.passAs
	switch way := q.Caller.Way; {
	case way == auth.ByKubeconfig:
		return upstream.AsKubeconfig(), nil
	case as == PassNothing && q.mayBeCached():
		return upstream.AsFacade(), nil
	case as == PassNothing:
		return upstream.Credentials{}, s.notServed(ctx, q)
	case way == auth.Anonymously:
		return upstream.Anonymously(), nil
	case way == auth.ByToken && q.hasOwnCredentials():
		return upstream.WithToken(q.token), nil
	case q.mayBeCached():
		return upstream.AsFacade(), nil
	case as == PassAsImpersonation && q.reason != observe.Undiscovered:
		as, err := upstream.Impersonating(q.Caller.Info)
		if err != nil {
			return as, errNotImpersonated
		}
		return as, nil
	default:
		return upstream.Credentials{}, s.notServed(ctx, q)
	}
}

// notServed returns the error for a request that is not cacheable and cannot be forwarded. If kube-apiserver does not
// have the path either, the error is kube-apiserver's.
func (s *Server) notServed(ctx context.Context, q *Request) error {
	switch {
	case q.undiscovered != nil:
		return q.undiscovered
	case q.reason == observe.Undiscovered:
		return s.resolver.unrouted(ctx, q)
	case q.method == http.MethodHead && q.info.IsResourceRequest:
		return errMethod
	case s.resolver.passAs == PassNothing:
		return errNothingPassed
	default:
		return errNotServed
	}
}
