package handlers

import (
	"context"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
)

const (
	// fillWait is how long a request waits for a lane that is being filled. It is long, because forwarding costs the
	// upstream as much as filling the lane, and many clients treat a 429 as a failure.
	fillWait = 10 * time.Second
	// cheapWait is how long a cheap request (isCheap) waits for a lane. Most lanes are filled within a few
	// milliseconds.
	cheapWait = time.Second
)

// waitBounds are the maximum numbers of requests that wait for one lane and for all lanes. Cheap requests for a lane
// are counted separately. A waiting request takes 9 to 16 KiB in addition to its connection: an 8 KiB stack, the
// request and a timer. All waiting requests take up to 128 MiB.
var waitBounds = limit.ConcurrencyBounds{Each: 2048, All: 8192}

// relistBounds are the maximum numbers of lists that wait for the new list of one contradicted lane, and of all lanes.
// A waiting list keeps one of the 400 seats of all callers (caller_limits.go), and 200 seats stay free for requests for
// other resources. A waiting watch keeps no such seat.
var relistBounds = limit.ConcurrencyBounds{Each: 100, All: 200}

// await waits until the lane can serve the request or has failed, or the time for the wait is over. The caller must
// check which of these happened. Except for cheap requests, await returns an error if the request's context ends, too
// many requests wait, or the server shuts down.
func (g *authorizationCheck) await(ctx context.Context, q *Request, lane Lane) error {
	if isReady(lane) {
		return nil // the usual case
	}
	if q.malformed != nil && lane.Kind() != nil {
		return nil // a refusal needs only the lane's kind
	}
	defer q.Event.Waited(observe.Syncing, q.Event.Waiting(observe.Syncing))
	key := q.laneKey()
	if q.isCheap() {
		if leave, err := g.waiting.Join(key + " cheap"); err == nil { // on error, the request does not wait
			defer leave()
			q.awaitShortly(ctx, lane)
		}
		return nil
	}
	return g.join(ctx, key, lane, func(ctx context.Context) bool {
		lane.AwaitSync(ctx, q.fillPatience())
		return isReady(lane)
	})
}

// join counts the request among those that wait for the lane, and calls wait. wait must return when its context ends,
// and returns true if the lane can serve the request. join returns an error if the request's context ends, too many
// requests wait, or the server shuts down.
func (g *authorizationCheck) join(ctx context.Context, key string, lane Lane, wait func(context.Context) bool) error {
	leave, err := g.waiting.Join(key)
	if err != nil {
		return &notReadyError{cause: errBusy, after: lane.FilledIn()}
	}
	defer leave()
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(g.draining, stop)()
	switch {
	case wait(waiting):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case g.draining.Err() != nil:
		return errDraining
	}
	return nil
}

// awaitRelist waits until a contradicted lane has been listed again, as await does for a lane that is being filled. If
// the lane ends, awaitRelist returns the same route or error as open. The caller must check whether the lane is still
// contradicted.
func (g *authorizationCheck) awaitRelist(ctx context.Context, q *Request, lane Lane) (route, error) {
	defer q.Event.Waited(observe.Syncing, q.Event.Waiting(observe.Syncing))
	if !q.isWatch() {
		leave, err := g.relisting.Join(q.laneKey())
		if err != nil {
			return route{}, &notReadyError{cause: errBusy, after: lane.FilledIn()}
		}
		defer leave()
	}
	err := g.join(ctx, q.laneKey(), lane, func(ctx context.Context) bool {
		lane.AwaitRelist(ctx, q.fillPatience())
		return !lane.Contradicted()
	})
	if err != nil {
		return route{}, err
	}
	return g.ended(q, lane)
}

func (q *Request) laneKey() string { return q.resource.GVR.String() + " " + q.media.encoding.Name() }

// isCheap reports whether a request costs the upstream little if it is forwarded while the lane is not ready. Cheap
// requests are gets, malformed requests, and pages (isPage) of lists without selectors.
func (q *Request) isCheap() bool {
	return q.malformed != nil || q.verb() == verbGet || q.readsEtcdWhileUnready() && q.isPage()
}

// wantsMostRecent reports whether a request reads the newest state. The request may be malformed.
func (q *Request) wantsMostRecent() bool {
	return q.verb() != verbWatch && q.query.Get("resourceVersion") == "" && q.query.Get("continue") == ""
}

func (q *Request) awaitShortly(ctx context.Context, lane Lane) {
	if q.malformed != nil {
		lane.AwaitKind(ctx, cheapWait)
		return
	}
	lane.AwaitSync(ctx, cheapWait)
}

// fillPatience returns how long the request waits for a lane. A watch waits no longer than its timeoutSeconds. The
// lifetime of the watch begins after this wait.
func (q *Request) fillPatience() time.Duration {
	if seconds := q.Options.TimeoutSeconds; q.isWatch() && seconds != nil && *seconds > 0 &&
		*seconds < int64(fillWait/time.Second) {
		return time.Duration(*seconds) * time.Second
	}
	return fillWait
}
