package auth

import (
	"context"
	"errors"
	urlpath "path"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"golang.org/x/sync/singleflight"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/limit"
)

// Reviews authorizes the requests of each caller by SubjectAccessReviews. Safe for concurrent use.
type Reviews struct {
	config   ReviewsConfig
	observer Observer
	paces    *limit.Paces       // rates of uncached questions, per share and group
	flight   singleflight.Group // reviews by flightOf, and waits of callers above their rate (ask)
	trouble  trouble
	sharing  sharing
	wake     chan struct{} // wakes Run when a review may be due

	mu       sync.Mutex // guards the fields below
	epoch    uint64     // number of observed changes of permissions
	subjects subjects
	verdicts *verdicts
	watches  watchAuthorizations
	underWay map[string]struct{} // questions under review (flightOf), which any caller may join
}

// NewReviews returns an authorizer. Run must run to review watches.
func NewReviews(config ReviewsConfig) *Reviews {
	config = config.withDefaults()
	r := &Reviews{
		config: config, observer: config.Observer, paces: newPaces(config.ShareRate),
		wake: make(chan struct{}, 1), subjects: newSubjects(), watches: newWatchAuthorizations(config.Watches),
		underWay: map[string]struct{}{},
	}
	r.verdicts = newVerdicts(max(config.AllowedTTL+config.StaleOnError, config.DeniedTTL), r.subjects.leave)
	if config.Extras == IgnoreExtras {
		r.sharing.now.Store(1)
	}
	r.observer.SharingChanged(r.period().state())
	return r
}

// Authorize returns a decision for the attributes, or a *DeniedError. It returns a *BusyError if too many uncached
// questions wait, and an *UnavailableError if the upstream could not review. Other errors are the context's. A request
// with selectors may need two reviews (unselected).
func (r *Reviews) Authorize(ctx context.Context, a Attributes) (Decision, error) {
	key := a.key()
	reply, outcome, err := r.decide(ctx, a)
	r.observer.Decided(outcome)
	if err != nil {
		return Decision{}, err
	}
	return reply.decision(key)
}

func (r *Reviews) decide(ctx context.Context, a Attributes) (answer, Outcome, error) {
	switch {
	case a.Caller == nil || a.Verb == "": // not a request; a bug elsewhere must not allow anything
		return answer{}, Denied, nil
	case r.needsNoReview(a):
		return answer{allowed: true}, NotReviewed, nil
	}
	joined := false // whether a joined review was refused because of another token's limit
	for {
		p := r.period()
		reply, outcome, err := r.decideIn(ctx, a, p)
		var busy *BusyError
		switch {
		case a.Caller.account == "" || p == 0:
			return reply, outcome, err
		case p != r.period(): // the shared answer does not count any longer
		case !joined && errors.As(err, &busy) && busy.share != "" && busy.share != a.Caller.Share():
			joined = true
		default:
			return reply, outcome, err
		}
	}
}

func (r *Reviews) decideIn(ctx context.Context, a Attributes, p period) (answer, Outcome, error) {
	if all, ok := a.unselected(); ok {
		if reply, outcome, err := r.decideUnselected(ctx, all, a, p); err != nil || reply.allowed {
			return reply, outcome, err
		}
	}
	q := newQuestion(a, p)
	known, ok := r.known(q)
	return r.settleBy(ctx, q, known, ok)
}

func (r *Reviews) settleBy(ctx context.Context, q question, known verdict, ok bool) (answer, Outcome, error) {
	switch {
	case ok && time.Since(known.made) < r.ttl(known.allowed):
		return answer{allowed: known.allowed, reason: known.reason.Value()}, pick(known.allowed, AllowedKept, DeniedKept), nil
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

// confirm reviews an expired permission again. For up to StaleOnError after the expiry, the permission stays valid
// while the upstream does not answer. The caller then waits for at most reviewPatience.
func (r *Reviews) confirm(ctx context.Context, q question, known verdict) (answer, Outcome, error) {
	stale := func() (answer, Outcome, error) {
		return answer{allowed: true, reason: known.reason.Value()}, AllowedLate, nil
	}
	stillValid := func() bool { return time.Since(known.made) < r.config.AllowedTTL+r.config.StaleOnError }
	if stillValid() && (r.trouble.isOn() || r.config.Upstream.Silent() > 0) {
		if r.trouble.mayAsk() {
			r.ask(ctx, q)
		}
		return stale()
	}
	var patience <-chan time.Time
	if stillValid() {
		timer := time.NewTimer(reviewPatience)
		defer timer.Stop()
		patience = timer.C
	}
	select {
	case result := <-r.ask(ctx, q):
		reply, outcome, err := outcomeOf(result)
		if outcome == Unavailable && stillValid() {
			return stale()
		}
		return reply, outcome, err
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
	case result.Err != nil:
		return answer{}, Unavailable, &UnavailableError{Err: result.Err}
	}
	reply := result.Val.(answer)
	return reply, pick(reply.allowed, Allowed, Denied), nil
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

func (r *Reviews) needsNoReview(a Attributes) bool {
	return a.PassedThrough || a.Path != "" && a.Resource == "" && isBelow(a.Path, r.config.AlwaysAllowPaths) ||
		len(r.config.AlwaysAllowGroups) > 0 && isMember(a.Caller.Info, r.config.AlwaysAllowGroups)
}

// isBelow reports whether a path is one of the roots, or below one. It returns false for paths that are not canonical,
// because servers interpret these differently.
func isBelow(path string, roots []string) bool {
	return path == urlpath.Clean(path) && slices.ContainsFunc(roots, func(root string) bool {
		rest, ok := strings.CutPrefix(path, root)
		return ok && (rest == "" || rest[0] == '/')
	})
}

func isMember(info user.Info, groups []string) bool {
	return slices.ContainsFunc(info.GetGroups(), func(group string) bool { return slices.Contains(groups, group) })
}

// known returns the cached verdict on a question, unless permissions have changed since.
func (r *Reviews) known(q question) (verdict, bool) {
	if !q.kept {
		return verdict{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.verdicts.byHash[q.hash]
	if v == nil || !v.subject.trusts(v.allowed, v.asked) {
		return verdict{}, false
	}
	return *v, true
}

// begin adds a reference to the question's subject, which finish removes. It also returns the current epoch.
func (r *Reviews) begin(q question) (*subject, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.subjects.refer(q), r.epoch
}

// keep caches an answer, unless permissions changed, or sharing began or ended, since the review was sent. A refusal
// also ends the watches that depend on this decision.
func (r *Reviews) keep(q question, s *subject, asked uint64, reply answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noticeOthers(q, reply)
	if !reply.allowed {
		r.verdicts.overrule(q.hash, asked) // even if this refusal may be outdated
	}
	if !r.isCurrent(q) || !s.trusts(reply.allowed, asked) {
		return
	}
	if d := r.watches.decisions[q.hash]; d != nil && d.reviewed && !reply.allowed {
		r.end(d, EndRevoked)
	}
	r.verdicts.forget(q.hash) // even if this answer is not cached: it overrides the earlier one
	if !q.kept || len(reply.reason) > maxKeptReason {
		return
	}
	r.verdicts.put(&verdict{
		hash: q.hash, subject: r.subjects.refer(q), share: q.Caller.Share(), allowed: reply.allowed,
		reason: unique.Make(reply.reason), asked: asked,
		made: time.Now(),
	})
}
