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

// Values of PassThroughAs. With each value, an authorized read of cacheable objects is forwarded with the facade's
// credentials if the caller's cannot be used. Except with PassNothing, requests of anonymous callers are forwarded
// without credentials (docs/adr/0012-credentials.md).
const (
	PassAsToken         PassThroughAs = iota // the caller's token, if it authenticated the caller
	PassAsImpersonation                      // the caller's token, or else constrained impersonation (KEP-5284)
	PassNothing                              // only reads of cacheable objects, with the facade's credentials
)

// passedThrough reports whether the upstream authorizes the request instead of the facade, because the request is
// forwarded under the caller's identity.
func (v *resolver) passedThrough(q *Request) bool {
	if q.subject.own() || answersReview(q) || !isCanonical(q.url.Path) || v.passAs == PassNothing &&
		q.Caller.Way != auth.ByKubeconfig {
		return false
	}
	if q.hasOwnCredentials() {
		return q.reason != ""
	}
	// For a resource that the upstream does not have, no permission to impersonate exists, so the authorizer decides.
	return q.reason != "" && q.reason != observe.Undiscovered && v.passAs == PassAsImpersonation && !q.mayBeCached()
}

// hasOwnCredentials reports whether the request can be forwarded with the caller's own credentials. A browser's
// websocket request has its token outside the Authorization header. Such a token is not forwarded.
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

// mayBeCached reports whether the cache may contain the requested objects. An authorized caller may read such objects
// with the facade's credentials, as from a lane.
func (q *Request) mayBeCached() bool {
	if q.method != http.MethodGet {
		return false
	}
	return q.subject == aboutDocument || q.resource.Cacheable
}

// credentials returns the upstream credentials of a forwarded request. If there are none, credentials returns the error
// that the caller receives.
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

// notServed returns the error for a request that is not cacheable and cannot be forwarded. It is kube-apiserver's error
// if kube-apiserver does not have the path either.
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
