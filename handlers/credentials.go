package handlers

import (
	"context"
	"net/http"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
)

// PassThroughAs is in whose name the upstream is asked for what the facade does not hold.
type PassThroughAs int

// The choices. In each, who sent no credentials is passed through without any, and what the authorizer granted of what
// the cache may hold is asked in the facade's own name where there is no other (docs/adr/0012-in-whose-name.md).
const (
	PassAsToken         PassThroughAs = iota // with the caller's own token, where one was what proved the caller
	PassAsImpersonation                      // the same; everybody else by constrained impersonation (KEP-5284)
	PassNothing                              // not at all
)

// passedThrough tells what the upstream authorizes itself, because it is asked in the caller's name.
func (v *resolver) passedThrough(q *Request) bool {
	if q.subject.own() || answersReview(q) || !isCanonical(q.url.Path) || v.passAs == PassNothing && q.Caller.Way != auth.ByKubeconfig {
		return false
	}
	if q.speaks() {
		return q.reason != ""
	}
	// What the upstream does not know nobody may be impersonated for: the authorizer is asked, as about what is there.
	return q.reason != "" && q.reason != observe.Undiscovered && v.passAs == PassAsImpersonation && !q.held()
}

// speaks tells whether the upstream can be asked as the caller has asked. A token that came another way than in the
// Authorization header, as browsers send it with a websocket, is not passed on.
func (q *Request) speaks() bool {
	switch q.Caller.Way {
	case auth.ByKubeconfig, auth.Anonymously:
		return true
	case auth.ByToken:
		return q.token != ""
	default:
		return false
	}
}

// held tells what the cache may hold: that the authorizer granted it is enough to read it with the facade's own rights,
// as a lane does.
func (q *Request) held() bool {
	if q.method != http.MethodGet {
		return false
	}
	return q.subject == aboutDocument || q.resource.Cacheable
}

// speaker says in whose name the upstream is asked. Its errors are the answer where nobody can ask.
func (s *Server) credentials(ctx context.Context, q *Request) (upstream.Credentials, error) {
	as := s.resolver.passAs
	switch way := q.Caller.Way; {
	case way == auth.ByKubeconfig:
		return upstream.AsKubeconfig(), nil
	case as == PassNothing && q.held():
		return upstream.AsFacade(), nil
	case as == PassNothing:
		return upstream.Credentials{}, s.notServed(ctx, q)
	case way == auth.Anonymously:
		return upstream.Anonymously(), nil
	case way == auth.ByToken && q.speaks():
		return upstream.WithToken(q.token), nil
	case q.held():
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

// notServed is the answer to what is not held and cannot be asked for. What kube-apiserver does not know either is
// answered as it does.
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
