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
	// turnsPerProcessor is the maximum number of first turns per processor, and also of later turns. It is small, because
	// goroutines that read responses of kube-apiserver need a processor, too.
	turnsPerProcessor = 8
	// turnTime is how long a turn lasts. The beginning of a watch needs a processor for less than a millisecond. A request
	// that takes longer than turnTime waits for something else, such as a review.
	turnTime = 20 * time.Millisecond
)

// turns limits how many long-running requests begin at the same time. Without this limit, thousands of clients that
// connect at once would keep all processors busy, and reviews would time out.
//
// A turn lasts until the response begins, and for a watch until the client has accepted all events for the first time.
// It also ends after turnTime, because requests that wait for a review or a lane would otherwise keep all turns. Such a
// request takes a later turn before its next step. It does not wait behind requests that have just arrived.
type turns struct {
	arriving *limit.Seats  // first turns, per source
	known    *limit.Seats  // later turns, per caller
	timeout  time.Duration // maximum wait for a turn
}

// newTurns returns turns. queue limits the waiting requests, separately for first and later turns; 0 means unlimited.
func newTurns(queue int, timeout time.Duration) turns {
	queue = orUnlimited(queue)
	all := int64(turnsPerProcessor * runtime.GOMAXPROCS(0))
	bounds := limit.Bounds{One: all, Group: all, All: all, Queue: queue, QueueAll: queue}
	return turns{arriving: limit.NewSeats(bounds), known: limit.NewSeats(bounds), timeout: timeout}
}

func orUnlimited(n int) int {
	if n == 0 {
		return math.MaxInt
	}
	return n
}

type turn struct {
	timer *time.Timer // ends the turn; nil before the first turn and after endTurn
	leave func()      // further calls have no effect
}

func newTurn(leave func()) turn { return turn{timer: time.AfterFunc(turnTime, leave), leave: leave} }

func (t *turn) end() {
	if t.timer != nil && t.timer.Stop() {
		t.leave()
	}
}

// endTurn ends the request's turn. The request does not get another turn.
func (o *reply) endTurn() {
	o.turn.end()
	o.turn = turn{} // frees memory, because a watch may last long
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
		// Create a new timer: after Reset, the runtime would walk through the timers of all watches (timers.adjust).
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
