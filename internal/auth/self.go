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

// Limits of the decisions that are kept.
const (
	decisionTTL   = 10 * time.Second // as delegated authorizers of kube-apiserver keep theirs
	reviewTimeout = 5 * time.Second
	// reviewPatience is how long a review may take before the upstream counts as one that does not answer; it takes
	// milliseconds when well.
	reviewPatience = time.Second
	maxDecisions   = 65536
)

// Self asks the upstream what the user of the facade's own credentials may do.
type Self struct {
	upstream     Upstream
	maxStaleness time.Duration
	everybody    *Caller
	flight       singleflight.Group
	trouble      trouble

	mu        sync.Mutex // guards decisions
	decisions map[[sha256.Size]byte]decision
}

type decision struct {
	allowed bool
	made    time.Time
}

// NewSelf makes an authorizer. While the upstream cannot be asked, what it allowed before still holds, until it has not
// been heard for maxStaleness (0: without end): the answers that it opens are as stale as itself and come from the same
// credentials. While the upstream refuses to be asked (401, 403), it holds for half a minute.
func NewSelf(upstream Upstream, maxStaleness time.Duration) *Self {
	return &Self{upstream: upstream, maxStaleness: maxStaleness, everybody: Kubeconfig(), decisions: map[[sha256.Size]byte]decision{}}
}

// Hold implements the authorizer: what everybody has is not taken from one.
func (s *Self) Hold(Attributes) *WatchAuthorization { return &WatchAuthorization{} }

// Authenticate takes everybody on this machine for the user of the kubeconfig; ErrForeign says that a request may be
// somebody else's.
func (s *Self) Authenticate(r *http.Request) (*Caller, error) {
	if !IsLocal(r) {
		return nil, ErrForeign
	}
	return s.everybody, nil
}

// Authorize returns a grant for the attributes, a *DeniedError, ErrStale or an *UnavailableError. Two questions need no
// review: what is passed through, the upstream authorizes itself, asked in the same name; and what the facade tells
// about itself (its health, metrics, profiles, log) is for whoever may use its kubeconfig.
func (s *Self) Authorize(ctx context.Context, a Attributes) (Decision, error) {
	key := a.key()
	if a.PassedThrough || a.Path != "" && a.Resource == "" {
		return Decision{key: key}, nil
	}
	hash := sha256.Sum256([]byte(key)) // selectors can be long; the kept key is not
	known, ok := s.lookup(hash)
	if ok && time.Since(known.made) < decisionTTL {
		return decisionIf(known.allowed, key)
	}
	if ok && known.allowed || s.trouble.isRefusal() {
		return s.confirm(ctx, a, hash)
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

// confirm asks again what was allowed before; while the upstream refuses to be asked, whatever it is. Nobody waits for
// an upstream that is known not to answer, and nobody for long to find that out.
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
		s.trouble.unansweredSince(asked)
	case <-ctx.Done():
		return Decision{}, ctx.Err()
	}
	return s.stale(a)
}

// stale grants what was allowed before, unless that has been for too long.
func (s *Self) stale(a Attributes) (Decision, error) {
	unheard := max(s.trouble.unansweredFor(), s.upstream.Silent())
	switch {
	case s.trouble.isRefusal():
		return Decision{}, &DeniedError{}
	case s.maxStaleness > 0 && unheard > s.maxStaleness:
		return Decision{}, ErrStale
	default:
		return Decision{key: a.key()}, nil
	}
}

// ask sends a review, unless the same is on its way; its answer is kept whoever waits for it.
func (s *Self) ask(ctx context.Context, a Attributes, hash [sha256.Size]byte) <-chan singleflight.Result {
	return s.flight.DoChan(string(hash[:]), func() (any, error) {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		asked := time.Now()
		allowed, err := s.review(detached, a)
		switch {
		case err == nil:
			s.keep(hash, decision{allowed: allowed, made: time.Now()})
			s.trouble.over()
		case errors.Is(err, errRefused):
			if s.trouble.refuses() {
				s.forget()
			}
		default:
			s.trouble.unansweredSince(asked)
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

// forget drops what was allowed.
func (s *Self) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.decisions)
}

func (s *Self) keep(hash [sha256.Size]byte, d decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.decisions) >= maxDecisions {
		clear(s.decisions) // asked again one by one; cheaper than knowing which one is old
	}
	s.decisions[hash] = d
}

func (s *Self) review(ctx context.Context, a Attributes) (bool, error) {
	status, err := review(ctx, s.upstream, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: resourceAttributes(a)},
	})
	return allows(status), err
}
