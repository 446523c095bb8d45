package handlers

import (
	"context"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
)

const (
	// fillWait is how long a request waits for a lane that is being filled. What it asks for would cost the upstream as
	// much as the filling does, and many clients take a 429 for a failure.
	fillWait = 10 * time.Second
	// cheapWait is how long one waits that costs the upstream little: most resources sync in a few milliseconds.
	cheapWait = time.Second
)

// waitBounds are how many wait for lanes at a time. One that waits costs a stack of 8 KiB, its request and its timer,
// 9 to 16 KiB in all beside the connection that it has anyway: a lane's are 32 MiB, and all together 128 MiB.
var waitBounds = limit.ConcurrencyBounds{Each: 2048, All: 8192}

// await waits until a lane has something to show, has failed, or the request has waited long enough, which is for the
// caller to look at. It fails if the request cannot wait: its time is over, too many wait, the server shuts down.
func (g *authorizationCheck) await(ctx context.Context, q *Request, lane *reflector.Reflector) error {
	if isReady(lane) {
		return nil // almost always
	}
	if q.malformed != nil && lane.Kind() != nil {
		return nil // a refusal needs no more of the lane
	}
	defer q.Event.Waited(observe.Syncing, q.Event.Waiting(observe.Syncing))
	crowd := lane.Resource.GVR.String() + " " + lane.Encoding.Name()
	if q.isCheap() {
		if leave, err := g.waiting.Join(crowd + " cheap"); err == nil { // else the upstream answers at once
			defer leave()
			q.awaitShortly(ctx, lane)
		}
		return nil
	}
	leave, err := g.waiting.Join(crowd)
	if err != nil {
		return &notReadyError{cause: errBusy, after: lane.FilledIn()}
	}
	defer leave()
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(g.draining, stop)()
	lane.AwaitSync(waiting, q.fillPatience())
	switch {
	case isReady(lane):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case g.draining.Err() != nil:
		return errDraining
	}
	return nil
}

// isCheap tells what the upstream answers for little while the lane cannot: an object, a page of the newest state or of
// an exact version, and a refusal.
func (q *Request) isCheap() bool {
	return q.malformed != nil || q.verb() == verbGet || q.passesUnready() && q.isPage()
}

// wantsMostRecent tells a read of the newest state, however malformed.
func (q *Request) wantsMostRecent() bool {
	return q.verb() != verbWatch && q.query.Get("resourceVersion") == "" && q.query.Get("continue") == ""
}

// awaitShortly waits for as much of the lane as a cheap request needs.
func (q *Request) awaitShortly(ctx context.Context, lane *reflector.Reflector) {
	if q.malformed != nil {
		lane.AwaitKind(ctx, cheapWait)
		return
	}
	lane.AwaitSync(ctx, cheapWait)
}

// fillPatience is how long the request waits for a lane; a watch not for longer than it is to last, and its time begins
// anew then.
func (q *Request) fillPatience() time.Duration {
	if seconds := q.Options.TimeoutSeconds; q.isWatch() && seconds != nil && *seconds > 0 && *seconds < int64(fillWait/time.Second) {
		return time.Duration(*seconds) * time.Second
	}
	return fillWait
}
