package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	decisionTTL   = 10 * time.Second // as in kube-apiserver's delegated authorization
	reviewTimeout = 5 * time.Second
	// reviewPatience is how long a request with an expired permission waits for a review.
	reviewPatience = time.Second
	maxDecisions   = 65536
)

// Self authorizes requests by the permissions of the facade's own credentials, with SelfSubjectAccessReviews.
type Self struct {
	upstream     Upstream
	maxStaleness time.Duration
	caller       *Caller
	flight       singleflight.Group
	trouble      trouble

	mu        sync.Mutex // guards decisions
	decisions map[[sha256.Size]byte]decision
}

type decision struct {
	allowed bool
	made    time.Time
}

// NewSelf returns an authorizer. While the upstream does not answer, earlier permissions stay valid for maxStaleness,
// or without limit if it is 0. This is safe because the cached data is as old and was read with the same credentials.
// While the upstream refuses reviews (401, 403), earlier permissions stay valid for refusalGrace.
func NewSelf(upstream Upstream, maxStaleness time.Duration) *Self {
	return &Self{upstream: upstream, maxStaleness: maxStaleness, caller: Kubeconfig(),
		decisions: map[[sha256.Size]byte]decision{}}
}

// AuthorizeWatch returns a watch authorization that never ends. All callers act as the kubeconfig user, so no caller
// can lose a permission that another caller keeps.
func (s *Self) AuthorizeWatch(Attributes) *WatchAuthorization { return &WatchAuthorization{} }

// Authenticate returns the kubeconfig user's caller for local requests, and ErrNotLocal for others, which a web page
// may have sent.
func (s *Self) Authenticate(r *http.Request) (*Caller, error) {
	if !IsLocal(r) {
		return nil, ErrNotLocal
	}
	return s.caller, nil
}

// Authorize returns a decision for the attributes, a *DeniedError, ErrStale, an *UnavailableError or the context's
// error. Two kinds of requests need no review. A forwarded request is authorized by the upstream, with the same
// credentials. Non-resource paths, such as health and discovery, are open to anyone who may use the kubeconfig.
func (s *Self) Authorize(ctx context.Context, a Attributes) (Decision, error) {
	key := a.key()
	if a.PassedThrough || a.Path != "" && a.Resource == "" {
		return Decision{key: key}, nil
	}
	hash := sha256.Sum256([]byte(key)) // keys with selectors may be long
	known, ok := s.lookup(hash)
	if ok && time.Since(known.made) < decisionTTL {
		return decisionIf(known.allowed, key)
	}
	switch {
	case ok && known.allowed:
		return s.confirm(ctx, a, hash)
	case s.trouble.isRefusal():
		if s.trouble.mayAsk() {
			s.ask(ctx, a, hash)
		}
		return Decision{}, &DeniedError{}
	}
	select {
	case result := <-s.ask(ctx, a, hash):
		if result.Err != nil {
			return Decision{}, &UnavailableError{Err: result.Err}
		}
		return decisionIf(result.Val.(bool), key)
	case <-ctx.Done():
		return Decision{}, ctx.Err()
	}
}

// confirm reviews an expired permission again. It does not wait for an upstream that is known to be down. Otherwise it
// waits for at most reviewPatience.
func (s *Self) confirm(ctx context.Context, a Attributes, hash [sha256.Size]byte) (Decision, error) {
	if s.trouble.isOn() || s.upstream.Silent() > 0 {
		if s.trouble.mayAsk() {
			s.ask(ctx, a, hash)
		}
		return s.stale(a)
	}
	asked := time.Now()
	patience := time.NewTimer(reviewPatience)
	defer patience.Stop()
	select {
	case result := <-s.ask(ctx, a, hash):
		if result.Err == nil {
			return decisionIf(result.Val.(bool), a.key())
		}
	case <-patience.C:
		s.trouble.recordNoAnswer(asked)
	case <-ctx.Done():
		return Decision{}, ctx.Err()
	}
	return s.stale(a)
}

// stale returns the decision of an expired permission, or an error if the upstream was silent or refused for too long.
// It must be called for a cached permission only.
func (s *Self) stale(a Attributes) (Decision, error) {
	silent := max(s.trouble.unansweredFor(), s.upstream.Silent())
	switch {
	case s.trouble.isRefusal():
		return Decision{}, &DeniedError{}
	case s.maxStaleness > 0 && silent > s.maxStaleness:
		return Decision{}, ErrStale
	default:
		return Decision{key: a.key()}, nil
	}
}

// ask sends a review, or joins the same review under way. The answer is cached even if no caller waits any longer.
func (s *Self) ask(ctx context.Context, a Attributes, hash [sha256.Size]byte) <-chan singleflight.Result {
	return s.flight.DoChan(string(hash[:]), func() (any, error) {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		asked := time.Now()
		allowed, err := s.review(detached, a)
		switch {
		case err == nil:
			s.keep(hash, decision{allowed: allowed, made: time.Now()})
			s.trouble.recordAnswer()
		case errors.Is(err, errRefused):
			if s.trouble.recordRefusal() {
				s.forget()
			}
		default:
			s.trouble.recordNoAnswer(asked)
		}
		return allowed, err
	})
}

func decisionIf(allowed bool, key string) (Decision, error) {
	if !allowed {
		return Decision{}, &DeniedError{}
	}
	return Decision{key: key}, nil
}

func (s *Self) lookup(hash [sha256.Size]byte) (decision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.decisions[hash]
	return d, ok
}

func (s *Self) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.decisions)
}

func (s *Self) keep(hash [sha256.Size]byte, d decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.decisions) >= maxDecisions {
		clear(s.decisions) // cheaper than tracking which decisions are old; each costs one new review
	}
	s.decisions[hash] = d
}

func (s *Self) review(ctx context.Context, a Attributes) (bool, error) {
	status, err := review(ctx, s.upstream, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		authorizationv1.SelfSubjectAccessReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
			Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: resourceAttributes(a)},
		})
	return allows(status), err
}
