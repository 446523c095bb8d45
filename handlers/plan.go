package handlers

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
)

const (
	// freshWait is how long kube-apiserver waits for a resourceVersion that it has not reached (semantics 2.2).
	freshWait = 3 * time.Second
	// smallResult is how many objects the upstream is asked for rather than made to prove a quiet lane fresh: that many
	// take it a few milliseconds, a fence about a second.
	smallResult = 500
)

// errForward says that the upstream has to answer this one: the cache could not, or could not prove that it may.
var errForward = errors.New("to be answered by the upstream")

// readKind is what a client asks of the age of a list (semantics 2.1).
type readKind int

const (
	mostRecent   readKind = iota // everything that was written before the request
	anyAge                       // whatever is there
	notOlderThan                 // at least rv
	exactly                      // rv
)

// plan is what resourceVersion, resourceVersionMatch, limit and continue mean together; nothing below looks at them again.
type plan struct {
	kind  readKind
	rv    cache.RV
	from  string // the key to start at
	limit int    // 0: everything
}

// planList derives a plan; its errors are kube-apiserver's for malformed versions and tokens (semantics 1.5, 2.5).
func planList(q *Request, lane *upstream.Lane) (plan, error) {
	opts := q.Options
	p := plan{limit: int(max(opts.Limit, 0)), from: q.keyPrefix()}
	if opts.Continue != "" {
		return p, p.resume(q, lane)
	}
	rv, err := cache.ParseRV(opts.ResourceVersion)
	if opts.ResourceVersion != "" && err != nil {
		return p, badRequest("invalid resource version: " + rvMessage(opts.ResourceVersion))
	}
	p.rv = rv
	switch {
	case opts.ResourceVersion == "":
		p.kind = mostRecent
	case opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact:
		p.kind = exactly
	case rv == 0:
		p.kind = anyAge
	case opts.ResourceVersionMatch == metav1.ResourceVersionMatchNotOlderThan, p.limit == 0:
		p.kind = notOlderThan
	default: // legacy: a version and a limit without a match
		p.kind = exactly
	}
	// kube-apiserver's cache ignores the limit at version 0; what it reads from etcd has it (semantics 2.1).
	if opts.ResourceVersion != "" && rv == 0 && !lane.Uncached() {
		p.limit = 0
	}
	if q.pinned(lane.Resource.Scope) && (p.kind == exactly) {
		return p, errForward // one key at an exact version is always read from etcd
	}
	return p, nil
}

// resume makes the plan of a continued list.
func (p *plan) resume(q *Request, lane *upstream.Lane) error {
	start, rv, err := decodeToken(q.Options.Continue, q.keyPrefix())
	if err != nil {
		return err
	}
	version := q.Options.ResourceVersion
	if version != "" && version != "0" {
		return badRequest("specifying resource version is not allowed when using continue")
	}
	if version == "0" && !lane.Uncached() {
		p.limit = 0
	}
	p.from = start
	if rv < 0 {
		p.kind = mostRecent
		return nil
	}
	p.kind, p.rv = exactly, cache.RV(rv)
	return nil
}

// stateFor finds the State that a plan reads, and the resourceVersion that its answer carries. errForward says that the
// upstream has to answer.
func (s *Server) stateFor(ctx context.Context, q *Request, lane *upstream.Lane, p plan) (*cache.State, error) {
	state, err := s.ready(lane)
	if err != nil {
		return nil, err
	}
	switch p.kind {
	case anyAge:
		return state, nil
	case mostRecent:
		return s.recent(ctx, q, lane, p)
	case notOlderThan:
		return s.reached(ctx, lane, p.rv, s.patience(q, lane, p))
	default:
		if _, err := s.reached(ctx, lane, p.rv, s.patience(q, lane, p)); err != nil {
			return nil, err
		}
		state, err := lane.Cache.At(ctx, p.rv, 0)
		if inStream(err) {
			// The upstream's window may reach further back, and its 410 has a token in it. Or the lane is known to be the same at
			// a later version, but not yet to have been at this one.
			return nil, errForward
		}
		return state, err
	}
}

// recent is a State that holds everything written before the request (semantics 10.5).
func (s *Server) recent(ctx context.Context, q *Request, lane *upstream.Lane, p plan) (*cache.State, error) {
	state, err := lane.Recent(ctx, q.arrived, s.patience(q, lane, p))
	if err != nil {
		return nil, errForward
	}
	return state, nil
}

// patience is how much is invested to prove a list fresh: an answer that is cheap for the upstream is its to give.
func (s *Server) patience(q *Request, lane *upstream.Lane, p plan) upstream.Patience {
	if s.small(q, lane, p) {
		return upstream.Brief
	}
	return upstream.Full
}

// small tells whether the answer is cheap for the upstream.
func (s *Server) small(q *Request, lane *upstream.Lane, p plan) bool {
	if p.limit > 0 && p.limit <= smallResult {
		return true
	}
	state, err := lane.Cache.State()
	return err != nil || state.Count(cache.Span{Prefix: q.keyPrefix(), From: p.from}) <= smallResult
}

// reached is a State at least as new as rv. A quiet lane does not hear of versions that other resources moved to, so it is
// brought there; one that the upstream has not reached either is waited for (semantics 2.2). errForward says that the upstream
// is asked rather than waited for: the answer is small, or the lane cannot hear that it is there. A lane that lags is waited for: large
// lists are what the upstream must not be asked for by all who wait.
func (s *Server) reached(ctx context.Context, lane *upstream.Lane, rv cache.RV, patience upstream.Patience) (*cache.State, error) {
	for deadline := time.Now().Add(freshWait); ; {
		err := lane.Reach(ctx, rv, patience)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, upstream.ErrUnproven) && !lane.Marked(), isUnreached(err) && (patience == upstream.Brief || lane.Uncached()):
			return nil, errForward
		}
		left := max(time.Until(deadline), 0)
		state, err := lane.Cache.WaitFor(ctx, rv, min(left, askAgain))
		if !isTooLarge(err) || left <= askAgain {
			return state, err
		}
	}
}

// askAgain is how long a version that the upstream had not reached is waited for before it is asked again: a quiet lane would not
// hear that it has.
const askAgain = 500 * time.Millisecond

func isUnreached(err error) bool {
	return errors.Is(err, upstream.ErrUnproven) || errors.Is(err, upstream.ErrAhead)
}

func isTooLarge(err error) bool {
	var tooLarge *cache.TooLargeError
	return errors.As(err, &tooLarge)
}

// ready is the lane's State if it may be shown.
func (s *Server) ready(lane *upstream.Lane) (*cache.State, error) {
	state, err := lane.Cache.State()
	if err != nil {
		cause := error(nil)
		if failure := lane.Failure(); failure != nil {
			cause = errUnfilled
		}
		return nil, &notReadyError{cause: cause}
	}
	if s.maxStaleness > 0 && lane.StaleFor() > s.maxStaleness {
		return nil, staleError{}
	}
	return state, nil
}

// errUnfilled stands for a reader's error; its own words, with addresses in them, are for the log.
var errUnfilled = errors.New("the upstream cannot be read at the moment")

// rvMessage is how kube-apiserver words a resourceVersion that is no number.
func rvMessage(s string) string {
	_, err := cache.ParseRV(s)
	return field.Invalid(field.NewPath("resourceVersion"), s, errors.Unwrap(err).Error()).Error()
}
