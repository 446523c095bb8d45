package handlers

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/listfacade/listfacade/internal/budget"
	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
)

// What the upstream is asked for at a time. A seat of a list stands for a MiB of its answer: eight lists of unknown
// size of one resource, and of three resources at a time. Everything else takes one seat each, and has as many as a
// kube-apiserver by itself lets be under way. Resources take turns, and the callers of one.
var (
	listBounds = limit.Bounds{One: 8 * unknownSeats, Group: 8 * unknownSeats, All: 24 * unknownSeats, Queue: 512}
	readBounds = limit.Bounds{One: 200, Group: 200, All: 400, Queue: 1024}
)

// limiter is the third station: it says whether a request may go on now, later or not at all.
type limiter struct {
	draining context.Context // ends when the server begins to shut down
	lists    *limit.Seats    // of requests that may have an answer of any size
	reads    *limit.Seats    // of all others
	sizes    *sizes
	buffered *semaphore.Weighted // bytes of answers that were read before their clients took them
	timeout  time.Duration       // of a request that has one
	shares   shares              // of callers
	stalls   *limit.Stalls       // answers that their clients do not take
	memory   *budget.Budget      // nil: any amount
}

func newLimiter(draining context.Context, timeout time.Duration) *limiter {
	return &limiter{
		draining: draining, timeout: timeout, lists: limit.NewSeats(listBounds), reads: limit.NewSeats(readBounds), sizes: newSizes(),
		buffered: semaphore.NewWeighted(bufferedOverall),
	}
}

// admit lets a request in, until the end of the answer. A watch that would end at once, because the server shuts down,
// is refused: its client would list everything again.
func (l *limiter) admit(ctx context.Context, out *reply, q *Request) error {
	if l.refusesNew(q) {
		return errDraining
	}
	return l.enter(ctx, out, q)
}

// refusesNew reports whether a request is a watch that would end at once.
func (l *limiter) refusesNew(q *Request) bool {
	return q.isWatch() && q.method == http.MethodGet && isRead(q.info) && l.draining.Err() != nil
}

// place takes a place among the requests that are passed through at a time; the caller leaves it. cached is how many
// bytes the cache has of the resource; 0 when it has none.
func (l *limiter) forwardSeat(ctx context.Context, q *Request, cached int64) (*forwardSeat, error) {
	p := &forwardSeat{limiter: l, q: q, leave: func() {}, cost: costOf(q)}
	places, seats := l.reads, int64(1)
	switch p.cost {
	case free:
		return p, nil
	case small:
	case large:
		places, seats = l.lists, seatsFor(max(cached, l.sizes.of(q)))
	}
	defer q.Event.Waited(observe.Queueing, q.Event.Waiting(observe.Queueing))
	waiting, cancel := context.WithTimeout(ctx, l.patience(ctx, q))
	defer cancel()
	leave, err := places.Take(waiting, limit.Key{Group: q.resourceName(), One: q.Caller.Share()}, seats)
	switch {
	case err == nil:
		p.leave = leave
		return p, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, &notReadyError{cause: errBusy}
	}
}

// patience is how long one waits for a place: as long as kube-apiserver's priority and fairness would let it wait in a
// queue, a quarter of the time that it has.
func (l *limiter) patience(ctx context.Context, q *Request) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return deadline.Sub(q.arrived) / 4
	}
	return l.timeout / 4
}
