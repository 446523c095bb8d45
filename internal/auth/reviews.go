package auth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	urlpath "path"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"golang.org/x/sync/singleflight"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Reviews asks the upstream what each caller may do, by SubjectAccessReview. Safe for concurrent use.
type Reviews struct {
	config   ReviewsConfig
	observer Observer
	misses   *rates
	flight   singleflight.Group
	trouble  trouble
	wake     chan struct{} // tells Run that there is more to do

	mu       sync.Mutex // guards the rest; held for as long as it takes to look at all identities, at most
	epoch    uint64     // counts the changes of rights that were seen
	people   identities
	verdicts *verdicts
	watches  watchAuthorizations
}

// NewReviews makes an authorizer. Watches are followed while Run runs.
func NewReviews(config ReviewsConfig) *Reviews {
	config = config.withDefaults()
	r := &Reviews{
		config: config, observer: config.Observer, misses: newRates(config.ShareRate, config.TotalRate),
		wake: make(chan struct{}, 1), people: identities{}, watches: newWatchAuthorizations(config.Watches),
	}
	r.verdicts = newVerdicts(max(config.AllowedTTL+config.StaleOnError, config.DeniedTTL), r.people.leave)
	return r
}

// question is what is asked, and by what name the answer is known.
type question struct {
	Attributes
	hash [sha256.Size]byte // selectors can be long; the kept key is not
	kept bool              // whether the answer may be
}

func newQuestion(a Attributes, key string) question {
	return question{Attributes: a, hash: sha256.Sum256([]byte(key)), kept: len(key) <= maxKeptKey}
}

// answer is what the upstream said.
type answer struct {
	allowed bool
	reason  string
}

func (a answer) decision(key string) (Decision, error) {
	if !a.allowed {
		return Decision{}, &DeniedError{Reason: a.reason}
	}
	return Decision{key: key, reason: a.reason}, nil
}

// Authorize returns a grant for the attributes, a *DeniedError, a *BusyError when the caller or all together ask too
// much that is not known, an *UnavailableError when the upstream does not say within 5 s, or the context's error. Who
// may select only is asked for twice (unselected). What is passed through needs no review: the upstream authorizes it
// itself, asked in the caller's name.
func (r *Reviews) Authorize(ctx context.Context, a Attributes) (Decision, error) {
	key := a.key()
	said, outcome, err := r.decide(ctx, a, key)
	r.observer.Decided(outcome)
	if err != nil {
		return Decision{}, err
	}
	return said.decision(key)
}

func (r *Reviews) decide(ctx context.Context, a Attributes, key string) (answer, Outcome, error) {
	switch {
	case a.Caller == nil || a.Verb == "": // nothing that a request can be; so whatever made it is wrong
		return answer{}, Denied, nil
	case r.isOpen(a):
		return answer{allowed: true}, NotReviewed, nil
	}
	if all, worth := a.unselected(); worth {
		if said, outcome, err := r.decideUnselected(ctx, all, a, key); err != nil || said.allowed {
			return said, outcome, err
		}
	}
	q := newQuestion(a, key)
	known, ok := r.known(q)
	return r.settleBy(ctx, q, known, ok)
}

// settleBy decides by what is known, if it is, or asks.
func (r *Reviews) settleBy(ctx context.Context, q question, known verdict, ok bool) (answer, Outcome, error) {
	switch {
	case ok && time.Since(known.made) < r.ttl(known.allowed):
		return answer{known.allowed, known.reason.Value()}, pick(known.allowed, AllowedKept, DeniedKept), nil
	case ok && known.allowed && r.config.StaleOnError > 0:
		return r.confirm(ctx, q, known)
	}
	select {
	case result := <-r.ask(ctx, q):
		return outcomeOf(result)
	case <-ctx.Done():
		return answer{}, Left, ctx.Err()
	}
}

// confirm asks again what was allowed before, and does not wait for long: while the upstream cannot be asked, it still
// is, for a time.
func (r *Reviews) confirm(ctx context.Context, q question, known verdict) (answer, Outcome, error) {
	stale := func() (answer, Outcome, error) { return answer{true, known.reason.Value()}, AllowedLate, nil }
	may := func() bool { return time.Since(known.made) < r.config.AllowedTTL+r.config.StaleOnError }
	if may() && (r.trouble.isOn() || r.config.Upstream.Silent() > 0) {
		if r.trouble.mayAsk() {
			r.ask(ctx, q)
		}
		return stale()
	}
	var patience <-chan time.Time
	if may() {
		timer := time.NewTimer(reviewPatience)
		defer timer.Stop()
		patience = timer.C
	}
	select {
	case result := <-r.ask(ctx, q):
		said, outcome, err := outcomeOf(result)
		if outcome == Unavailable && may() {
			return stale()
		}
		return said, outcome, err
	case <-patience:
		return stale()
	case <-ctx.Done():
		return answer{}, Left, ctx.Err()
	}
}

func outcomeOf(result singleflight.Result) (answer, Outcome, error) {
	var busy *BusyError
	switch {
	case errors.As(result.Err, &busy):
		return answer{}, Busy, busy
	case isNotSent(result.Err):
		return answer{}, Busy, &BusyError{After: retryAfter}
	case result.Err != nil:
		return answer{}, Unavailable, &UnavailableError{Err: result.Err}
	}
	said := result.Val.(answer)
	return said, pick(said.allowed, Allowed, Denied), nil
}

func pick(allowed bool, yes, no Outcome) Outcome {
	if allowed {
		return yes
	}
	return no
}

func (r *Reviews) ttl(allowed bool) time.Duration {
	if allowed {
		return r.config.AllowedTTL
	}
	return r.config.DeniedTTL
}

// isOpen tells what needs no review.
func (r *Reviews) isOpen(a Attributes) bool {
	return a.PassedThrough || a.Path != "" && a.Resource == "" && isBelow(a.Path, r.config.AlwaysAllowPaths) ||
		len(r.config.AlwaysAllowGroups) > 0 && isMember(a.Caller.Info, r.config.AlwaysAllowGroups)
}

// isBelow looks at straight paths alone: what a crooked one is below is a matter of who reads it.
func isBelow(path string, roots []string) bool {
	return path == urlpath.Clean(path) && slices.ContainsFunc(roots, func(root string) bool {
		rest, ok := strings.CutPrefix(path, root)
		return ok && (rest == "" || rest[0] == '/')
	})
}

func isMember(who user.Info, groups []string) bool {
	return slices.ContainsFunc(who.GetGroups(), func(group string) bool { return slices.Contains(groups, group) })
}

// known is the verdict on a question, unless rights have changed since.
func (r *Reviews) known(q question) (verdict, bool) {
	if !q.kept {
		return verdict{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.verdicts.byHash[q.hash]
	if v == nil || !v.who.trusts(v.allowed, v.asked) {
		return verdict{}, false
	}
	return *v, true
}

// ask sends a review, unless the same is on its way since the caller's rights last changed; its answer is kept whoever
// waits for it.
func (r *Reviews) ask(ctx context.Context, q question) <-chan singleflight.Result {
	return r.flight.DoChan(r.flightOf(q), func() (any, error) {
		if after := r.misses.take(q.Caller.Share()); after > 0 {
			return nil, &BusyError{After: after}
		}
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		who, asked := r.begin(q)
		defer r.leave(who)
		status, err := r.insist(detached, q.Attributes)
		if err != nil {
			return nil, err
		}
		said := answer{allowed: allows(status), reason: status.Reason}
		r.keep(q, who, asked, said)
		return said, nil
	})
}

func (r *Reviews) flightOf(q question) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var changed uint64
	if who := r.people[q.Caller.key]; who != nil {
		changed = max(who.lost, who.gained)
	}
	return string(binary.BigEndian.AppendUint64(q.hash[:], changed))
}

// begin returns who asks and the epoch. The identity is left when the answer has come.
func (r *Reviews) begin(q question) (*identity, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.people.refer(q.Caller), r.epoch
}

func (r *Reviews) leave(who *identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.people.leave(who)
}

// keep keeps an answer, unless rights have changed since it was asked for. A refusal ends what stands on the opposite:
// whoever finds out, all know it.
func (r *Reviews) keep(q question, who *identity, asked uint64, said answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !who.trusts(said.allowed, asked) {
		return
	}
	if h := r.watches.decisions[q.hash]; h != nil && h.reviewed && !said.allowed {
		r.end(h, EndRevoked)
	}
	r.verdicts.forget(q.hash) // also where this answer is not kept: what was said before it no longer counts
	if !q.kept || len(said.reason) > maxKeptReason {
		return
	}
	r.verdicts.put(&verdict{
		hash: q.hash, who: r.people.refer(q.Caller), share: q.Caller.Share(), allowed: said.allowed, reason: unique.Make(said.reason), asked: asked,
		made: time.Now(),
	})
}
