package handlers

import (
	"context"
	"errors"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
)

// freshWait is how long kube-apiserver waits for a resourceVersion that it has not reached (semantics 2.2).
const freshWait = 3 * time.Second

// stateFor finds the State that a plan reads; answer is what the upstream would have to give instead. A *forwardError
// says that the upstream has to answer.
func (s *Server) stateFor(
	ctx context.Context, q *Request, lane *reflector.Reflector, p plan, answer fresh.Answer,
) (*cache.State, error) {
	defer q.Event.Waited(observe.Proving, q.Event.Waiting(observe.Proving))
	state, err := s.ready(lane)
	if err != nil {
		return nil, err
	}
	switch p.kind {
	case anyAge:
		return state, nil
	case mostRecent: // a State that holds everything written before the request (semantics 10.5)
		state, check, err := lane.Recent(ctx, q.arrived, answer)
		if err != nil {
			return nil, forwardFor(observe.Unproven)
		}
		q.Event.Check = check.String()
		return state, nil
	case notOlderThan:
		return s.reached(ctx, lane, p.rv, answer)
	default:
		return s.at(ctx, lane, p.rv, answer)
	}
}

// at is the State of exactly this version.
func (s *Server) at(ctx context.Context, lane *reflector.Reflector, rv cache.RV, answer fresh.Answer) (*cache.State, error) {
	if _, err := s.reached(ctx, lane, rv, answer); err != nil {
		return nil, err
	}
	state, err := lane.Cache.At(ctx, rv, 0)
	if inStream(err) {
		// The upstream's window may reach further back, and its 410 has a token in it. Or the lane is known to be the
		// same at a later version, but not yet to have been at this one.
		return nil, forwardFor(observe.OutsideWindow)
	}
	return state, err
}

// now is the upstream's version of now, for a watch of what comes after it.
func (s *Server) now(ctx context.Context, q *Request, lane *reflector.Reflector) (cache.RV, error) {
	defer q.Event.Waited(observe.Proving, q.Event.Waiting(observe.Proving))
	rv, err := lane.Now(ctx)
	if err != nil {
		return 0, forwardFor(observe.Unproven)
	}
	return rv, nil
}

// fills tells a list by which a facade behind this one fills a lane, or calls it over: all who read there share it, so
// that a proof is worth more than what it saves here.
func (q *Request) fills() bool {
	return q.fromFacade() && !q.namesOne()
}

// fromFacade tells a question that a facade behind this one asks on its own behalf.
func (q *Request) fromFacade() bool { return q.header.Get("User-Agent") == upstream.UserAgent }

// answerTo is what the upstream would have to send for a list. Who continues one reads it to its end, page by page, so
// for the next page it is all that is left: once the lane is where the first page was, the upstream is spared the rest.
func answerTo(q *Request, lane *reflector.Reflector, p plan) fresh.Answer {
	state, err := lane.Cache.State()
	if err != nil {
		return fresh.Answer{}
	}
	if q.fills() {
		return fresh.Endless()
	}
	span := cache.Span{Prefix: q.keyPrefix(), From: p.from}
	a := fresh.Answer{Objects: state.Count(span), Bytes: int(state.Bytes(span)), Page: p.limit}
	if p.limit > 0 && p.limit < a.Objects && q.Options.Continue == "" {
		a.Bytes = int(float64(a.Bytes) / float64(a.Objects) * float64(p.limit))
		a.Objects = p.limit
	}
	if q.media.protobuf {
		return a.InProtobuf()
	}
	return a
}

// reached is a State at least as new as rv. A quiet lane does not hear of versions that other resources moved to, so it
// is brought there; one that the upstream has not reached either is waited for (semantics 2.2). A *forwardError says
// that the upstream is asked rather than waited for: the answer is small, or the lane cannot hear that it is there. A
// lane that lags is waited for: large lists are what the upstream must not be asked for by all who wait. Of a list by
// small pages it is asked for the page when the wait was in vain, rather than that the walk ends there.
func (s *Server) reached(ctx context.Context, lane *reflector.Reflector, rv cache.RV, answer fresh.Answer) (*cache.State, error) {
	for deadline := time.Now().Add(freshWait); ; {
		unreached := lane.Reach(ctx, rv, answer)
		switch {
		case unreached != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(unreached, fresh.ErrUnproven) && !lane.Marked(),
			isUnreached(unreached) && (answer.Small() || lane.Resource.ReadFromEtcd()):
			return nil, forwardFor(observe.Unproven)
		}
		left := max(time.Until(deadline), 0)
		state, err := lane.Cache.WaitFor(ctx, rv, min(left, askAgain))
		switch {
		case !isTooLarge(err):
			return state, err
		case left > askAgain: // there is time to ask again
		case errors.Is(unreached, fresh.ErrUnproven) && answer.SmallPage():
			return nil, forwardFor(observe.Unproven)
		default:
			return state, err
		}
	}
}

// askAgain is how long a version that the upstream had not reached is waited for before it is asked again: a quiet lane
// would not hear that it has.
const askAgain = 500 * time.Millisecond

func isUnreached(err error) bool {
	return errors.Is(err, fresh.ErrUnproven) || errors.Is(err, fresh.ErrAhead)
}

func isTooLarge(err error) bool {
	var tooLarge *cache.TooLargeError
	return errors.As(err, &tooLarge)
}

// inStream tells whether kube-apiserver says an error inside a stream that began well (semantics 4.1).
func inStream(err error) bool {
	var expired *cache.ExpiredError
	return errors.As(err, &expired) || isTooLarge(err)
}

// ready is the lane's State if it may be shown.
func (s *Server) ready(lane *reflector.Reflector) (*cache.State, error) {
	state, err := lane.Cache.State()
	if err != nil {
		cause := error(nil)
		if failure := lane.Failure(); failure != nil {
			cause = errUnfilled
		}
		return nil, &notReadyError{cause: cause, after: lane.FilledIn()}
	}
	if s.times.maxStaleness > 0 && lane.StaleFor() > s.times.maxStaleness {
		return nil, staleError{}
	}
	return state, nil
}
