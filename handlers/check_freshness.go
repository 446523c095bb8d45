package handlers

import (
	"context"
	"errors"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
)

// freshWait is how long kube-apiserver waits for a resourceVersion that it has not reached (semantics 2.2).
const freshWait = 3 * time.Second

// stateFor returns the State that a plan reads, or the route to the upstream. answer describes the response that the
// upstream would have to send instead of the facade.
//
// No other function decides whether the lane may answer. stateFor decides after all waits, because a freshness check
// may contradict the lane during a wait. It returns fresh.ErrContradicted if neither the lane nor the upstream may
// answer. The request then has to wait for the lane's new list. Reads at an exact version never wait for the new list.
// The history ends with the contradicted list, so after the wait all these reads would be forwarded at the same time.
func (s *Server) stateFor(
	ctx context.Context, q *Request, lane Lane, p plan, answer fresh.Answer,
) (*cache.State, route, error) {
	defer q.Event.Waited(observe.Proving, q.Event.Waiting(observe.Proving))
	listing := lane.Listing() // before the State
	state, err := s.ready(lane)
	if err != nil {
		return nil, route{}, err
	}
	to := route{}
	switch p.kind {
	case anyAge:
	case mostRecent:
		state, to, err = recent(ctx, q, lane, answer)
	case notOlderThan:
		state, to, err = s.reached(ctx, q, lane, p.rv, answer)
	default:
		state, to, err = s.at(ctx, q, lane, p.rv, answer)
	}
	switch {
	case p.acceptsAnyState(), to.forwards():
	case !lane.Doubts(listing) && !errors.Is(err, fresh.ErrContradicted):
	case ctx.Err() != nil:
		return nil, route{}, ctx.Err()
	case p.kind == exactly, answer.SmallPage(), lane.Forwards(ctx, answer):
		return nil, forwardFor(observe.Unproven), nil
	default:
		return nil, route{}, fresh.ErrContradicted
	}
	return state, to, err
}

// acceptsAnyState reports whether a plan may read a contradicted lane. kube-apiserver, too, answers a read at version 0
// from its cache, whatever is in etcd. A watch may not read a contradicted lane, because the watch would end with the
// new list.
func (p *plan) acceptsAnyState() bool { return p.kind == anyAge && !p.initial }

// recent returns a State with all writes that finished before the request arrived (semantics 10.5).
func recent(ctx context.Context, q *Request, lane Lane, answer fresh.Answer) (*cache.State, route, error) {
	state, check, err := lane.Recent(ctx, q.arrived, answer)
	switch {
	case errors.Is(err, fresh.ErrContradicted):
		return nil, route{}, err
	case err != nil:
		return nil, forwardFor(observe.Unproven), nil
	}
	q.Event.Check = check.String()
	return state, route{}, nil
}

func (s *Server) at(ctx context.Context, q *Request, lane Lane, rv cache.RV,
	answer fresh.Answer) (*cache.State, route, error) {
	if _, to, err := s.reached(ctx, q, lane, rv, answer); err != nil || to.forwards() {
		return nil, to, err
	}
	state, err := lane.Store().At(ctx, rv, 0)
	if inStream(err) {
		// Forward the request. The upstream's history may be longer, and its 410 contains a continue token. The lane may also
		// have skipped rv, because only a later version was confirmed.
		return nil, forwardFor(observe.OutsideWindow), nil
	}
	return state, route{}, err
}

// now returns the current resourceVersion of the upstream, for a watch of later events.
func (s *Server) now(ctx context.Context, q *Request, lane Lane) (cache.RV, route) {
	defer q.Event.Waited(observe.Proving, q.Event.Waiting(observe.Proving))
	rv, err := lane.Now(ctx)
	if err != nil {
		return 0, forwardFor(observe.Unproven)
	}
	return rv, route{}
}

// fills reports whether another facade reads a list to fill a lane or to make a roll call. All readers of the other
// facade share its lane. A freshness check for such a list therefore saves more work than a check for one client.
func (q *Request) fills() bool {
	return q.fromFacade() && !q.namesOne()
}

// fromFacade reports whether another facade has sent the request on its own behalf.
func (q *Request) fromFacade() bool { return q.header.Get("User-Agent") == upstream.UserAgent }

// answerTo estimates the response that the upstream would have to send for a list. Clients read a continued list page
// by page to its end, so the estimate for a later page covers all remaining pages. If the lane has the version of the
// first page, it serves all these pages.
func answerTo(q *Request, lane Lane, p plan) fresh.Answer {
	state, err := lane.Store().State()
	if err != nil {
		return fresh.Answer{}
	}
	if q.fills() || q.shardsHere { // prefer a check, also because the upstream may ignore the shard selector
		return fresh.Endless()
	}
	span := cache.Span{Prefix: q.keyPrefix(), From: p.from}
	a := fresh.Answer{Objects: state.Count(span), Bytes: int(state.Bytes(span)), Page: p.limit}
	if p.limit > 0 && p.limit < a.Objects && q.Options.Continue == "" {
		a.Bytes = int(float64(a.Bytes) / float64(a.Objects) * float64(p.limit))
		a.Objects = p.limit
	}
	a.Bytes /= q.media.encoding.BytesPerJSONByte()
	return a
}

// reached returns a State at least as new as rv. The lane of a quiet resource does not receive the versions of other
// resources, so a freshness check advances the lane. If the upstream has not reached rv either, reached waits
// (semantics 2.2).
//
// reached returns fresh.ErrContradicted at once if a check finds that the lane is wrong. It forwards a request at once
// in these cases:
//   - No check succeeds, and the upstream sends no bookmarks.
//   - The lane is not at rv, and the answer is small (fresh.Answer.Small).
//   - The lane is not at rv, and kube-apiserver reads the answer from etcd.
//
// All other requests wait for the lane, because the upstream must not send large lists to all of them. After the wait,
// a page with a low limit may be forwarded, so that its client can finish the list.
func (s *Server) reached(ctx context.Context, q *Request, lane Lane, rv cache.RV,
	answer fresh.Answer) (*cache.State, route, error) {
	for deadline := time.Now().Add(freshWait); ; {
		unreached := lane.Reach(ctx, rv, answer)
		switch {
		case unreached != nil && ctx.Err() != nil:
			return nil, route{}, ctx.Err()
		case errors.Is(unreached, fresh.ErrContradicted):
			return nil, route{}, unreached
		case errors.Is(unreached, fresh.ErrUnproven) && !lane.Marked(),
			isUnreached(unreached) && (answer.Small() || q.resource.ReadFromEtcd()):
			return nil, forwardFor(observe.Unproven), nil
		}
		left := max(time.Until(deadline), 0)
		state, err := lane.Store().WaitFor(ctx, rv, min(left, recheckInterval))
		switch {
		case !isTooLarge(err):
			return state, route{}, err
		case left > recheckInterval: // another check is possible
		case errors.Is(unreached, fresh.ErrUnproven) && answer.SmallPage():
			return nil, forwardFor(observe.Unproven), nil
		default:
			return state, route{}, err
		}
	}
}

// recheckInterval is how long to wait for a version before the next freshness check. Without another check, the lane of
// a quiet resource would not receive the version.
const recheckInterval = 500 * time.Millisecond

func isUnreached(err error) bool {
	return errors.Is(err, fresh.ErrUnproven) || errors.Is(err, fresh.ErrAhead)
}

func isTooLarge(err error) bool {
	var tooLarge *cache.TooLargeError
	return errors.As(err, &tooLarge)
}

// inStream reports whether kube-apiserver sends this error inside a stream that began with code 200 (semantics 4.1).
func inStream(err error) bool {
	var expired *cache.ExpiredError
	return errors.As(err, &expired) || isTooLarge(err)
}

// ready returns the lane's State. It returns an error if there is none, or if the upstream has been silent for longer
// than Config.MaxStaleness.
func (s *Server) ready(lane Lane) (*cache.State, error) {
	state, err := lane.Store().State()
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
