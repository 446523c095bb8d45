package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
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

// Upstream is who is asked.
type Upstream interface {
	// Post sends a JSON body to a path of the upstream and returns the answer's code and body.
	Post(ctx context.Context, path string, body []byte) (int, []byte, error)
	// Unheard is how long the upstream has not answered anybody who asked it anything; 0 while it does.
	Unheard() time.Duration
}

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
func (s *Self) Hold(Attributes) *Lease { return &Lease{} }

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
// about itself (its health, metrics, profiles) is for whoever may use its kubeconfig.
func (s *Self) Authorize(ctx context.Context, a Attributes) (Grant, error) {
	key := a.key()
	if a.PassedThrough || a.Path != "" && a.Resource == "" {
		return Grant{key: key}, nil
	}
	hash := sha256.Sum256([]byte(key)) // selectors can be long; the kept key is not
	known, ok := s.lookup(hash)
	if ok && time.Since(known.made) < decisionTTL {
		return grantIf(known.allowed, key)
	}
	if ok && known.allowed || s.trouble.isRefusal() {
		return s.confirm(ctx, a, hash)
	}
	select {
	case result := <-s.ask(ctx, a, hash):
		if result.Err != nil {
			return Grant{}, &UnavailableError{Err: result.Err}
		}
		return grantIf(result.Val.(bool), key)
	case <-ctx.Done():
		return Grant{}, ctx.Err()
	}
}

// confirm asks again what was allowed before; while the upstream refuses to be asked, whatever it is. Nobody waits for
// an upstream that is known not to answer, and nobody for long to find that out.
func (s *Self) confirm(ctx context.Context, a Attributes, hash [sha256.Size]byte) (Grant, error) {
	if s.trouble.isOn() || s.upstream.Unheard() > 0 {
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
			return grantIf(result.Val.(bool), a.key())
		}
	case <-patience.C:
		s.trouble.unansweredSince(asked)
	case <-ctx.Done():
		return Grant{}, ctx.Err()
	}
	return s.stale(a)
}

// stale grants what was allowed before, unless that has been for too long.
func (s *Self) stale(a Attributes) (Grant, error) {
	unheard := max(s.trouble.unansweredFor(), s.upstream.Unheard())
	switch {
	case s.trouble.isRefusal():
		return Grant{}, &DeniedError{}
	case s.maxStaleness > 0 && unheard > s.maxStaleness:
		return Grant{}, ErrStale
	default:
		return Grant{key: a.key()}, nil
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

func grantIf(allowed bool, key string) (Grant, error) {
	if !allowed {
		return Grant{}, &DeniedError{}
	}
	return Grant{key: key}, nil
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

// errRefused says that the upstream did not even let a review pass.
var errRefused = errors.New("the upstream refused an access review")

func (s *Self) review(ctx context.Context, a Attributes) (bool, error) {
	body, err := json.Marshal(authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: resourceAttributes(a)},
	})
	if err != nil {
		return false, fmt.Errorf("encode the access review: %w", err)
	}
	code, answer, err := s.upstream.Post(ctx, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
	if err != nil {
		return false, err
	}
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		return false, fmt.Errorf("%w: %d", errRefused, code)
	}
	if code != http.StatusCreated && code != http.StatusOK {
		return false, fmt.Errorf("the upstream answered %d to an access review", code)
	}
	var review authorizationv1.SelfSubjectAccessReview
	if err := json.Unmarshal(answer, &review); err != nil {
		return false, fmt.Errorf("read the access review: %w", err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}

func resourceAttributes(a Attributes) *authorizationv1.ResourceAttributes {
	attributes := &authorizationv1.ResourceAttributes{
		Verb: a.Verb, Group: a.Group, Version: a.Version, Resource: a.Resource, Subresource: a.Subresource,
		Namespace: a.Namespace, Name: a.Name,
	}
	if fieldRequirements := fieldRequirements(a.Fields); len(fieldRequirements) > 0 {
		attributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: fieldRequirements}
	}
	if labelRequirements := labelRequirements(a.Labels); len(labelRequirements) > 0 {
		attributes.LabelSelector = &authorizationv1.LabelSelectorAttributes{Requirements: labelRequirements}
	}
	return attributes
}

// fieldRequirements drops operators that a review cannot express; fewer requirements only widen the question.
func fieldRequirements(requirements fields.Requirements) []metav1.FieldSelectorRequirement {
	var out []metav1.FieldSelectorRequirement
	for _, r := range requirements {
		switch r.Operator {
		case selection.Equals, selection.DoubleEquals, selection.In:
			out = append(out, metav1.FieldSelectorRequirement{Key: r.Field, Operator: metav1.FieldSelectorOpIn, Values: []string{r.Value}})
		case selection.NotEquals, selection.NotIn:
			out = append(out, metav1.FieldSelectorRequirement{Key: r.Field, Operator: metav1.FieldSelectorOpNotIn, Values: []string{r.Value}})
		default: // field selectors know no others
		}
	}
	return out
}

func labelRequirements(requirements labels.Requirements) []metav1.LabelSelectorRequirement {
	var out []metav1.LabelSelectorRequirement
	for _, r := range requirements {
		operator, ok := labelOperator(r.Operator())
		if !ok {
			continue
		}
		requirement := metav1.LabelSelectorRequirement{Key: r.Key(), Operator: operator}
		if operator == metav1.LabelSelectorOpIn || operator == metav1.LabelSelectorOpNotIn {
			requirement.Values = r.ValuesUnsorted()
		}
		out = append(out, requirement)
	}
	return out
}

func labelOperator(operator selection.Operator) (metav1.LabelSelectorOperator, bool) {
	switch operator {
	case selection.Equals, selection.DoubleEquals, selection.In:
		return metav1.LabelSelectorOpIn, true
	case selection.NotEquals, selection.NotIn:
		return metav1.LabelSelectorOpNotIn, true
	case selection.Exists:
		return metav1.LabelSelectorOpExists, true
	case selection.DoesNotExist:
		return metav1.LabelSelectorOpDoesNotExist, true
	default:
		return "", false
	}
}
