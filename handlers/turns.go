package handlers

import (
	"context"
	"math"
	"runtime"
	"time"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
)

const (
	// turnsPerProcessor is the number of first turns per processor, and also the number of later turns. A small number
	// of requests does not delay a goroutine that reads a response of kube-apiserver.
	turnsPerProcessor = 8
	// turnTime is how long a turn lasts. To begin a watch takes less than a millisecond of a processor. A request that
	// takes longer waits for something else, such as a review.
	turnTime = 20 * time.Millisecond
)

// turns bounds the long-running requests that begin at a time. When thousands of clients connect at once, reviews would
// otherwise wait behind all their requests for a processor, and time out.
//
// A turn covers the work before the response begins, and the events that a watch resumes with. It ends after turnTime,
// so that requests that wait for reviews or a lane do not keep all turns. Such a request takes another turn before its
// next step, but does not wait behind requests that have just arrived.
type turns struct {
	arriving *limit.Seats  // first turns, per source
	known    *limit.Seats  // later turns, per caller
	timeout  time.Duration // maximum wait for a turn
}

// newTurns returns turns. queue is the maximum length of each of the two queues; 0 means unlimited.
func newTurns(queue int, timeout time.Duration) turns {
	queue = orUnlimited(queue)
	all := int64(turnsPerProcessor * runtime.GOMAXPROCS(0))
	bounds := limit.Bounds{One: all, Group: all, All: all, Queue: queue, QueueAll: queue}
	return turns{arriving: limit.NewSeats(bounds), known: limit.NewSeats(bounds), timeout: timeout}
}

// orUnlimited returns a number, or the largest one for 0.
func orUnlimited(n int) int {
	if n == 0 {
		return math.MaxInt
	}
	return n
}

// turn is the turn of one request.
type turn struct {
	timer *time.Timer // ends the turn; nil before the first turn and after endTurn
	leave func()      // further calls have no effect
}

func newTurn(leave func()) turn { return turn{timer: time.AfterFunc(turnTime, leave), leave: leave} }

// end ends the turn. Further calls have no effect.
func (t *turn) end() {
	if t.timer != nil && t.timer.Stop() {
		t.leave()
	}
}

// endTurn ends the request's turn. The request does not get another one.
func (o *reply) endTurn() {
	o.turn.end()
	o.turn = turn{} // frees memory, because a watch lasts long
}

// arrive waits for the first turn of a long-running request, before its authentication.
func (t *turns) arrive(ctx context.Context, out *reply, q *Request) error {
	if q.subject.own() || !q.runsLong() {
		return nil
	}
	out.atEnd(func() { out.turn.end() })
	return t.take(ctx, out, q, t.arriving, auth.SourceOf(q.Event.Client))
}

// proceed gives a request with a turn another turnTime. If the turn has ended, proceed waits for another one.
func (t *turns) proceed(ctx context.Context, out *reply, q *Request) error {
	timer := out.turn.timer
	switch {
	case timer == nil:
		return nil
	case timer.Stop():
		// After Reset, the runtime would walk through the timers of all watches (timers.adjust).
		out.turn = newTurn(out.turn.leave)
		return nil
	}
	return t.take(ctx, out, q, t.known, callerKey(q.Caller))
}

func (t *turns) take(ctx context.Context, out *reply, q *Request, seats *limit.Seats, key limit.Key) error {
	defer q.Event.Waited(observe.Queueing, q.Event.Waiting(observe.Queueing))
	waiting, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	leave, err := seats.Take(waiting, key, 1)
	switch {
	case err == nil:
		out.turn = newTurn(leave)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return tooMany(0)
}
