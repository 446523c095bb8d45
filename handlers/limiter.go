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

// Limits of the upstream's work for forwarded requests. A list takes one seat for each MiB of its response, but at most
// unknownSeats. With an unknown size, it takes unknownSeats. This allows eight lists of unknown size for one resource,
// and 24 in total. Requests of the class small (cost.go) have 400 seats, as in kube-apiserver by default.
var (
	listBounds = limit.Bounds{One: 8 * unknownSeats, Group: 8 * unknownSeats, All: 24 * unknownSeats, Queue: 512}
	readBounds = limit.Bounds{One: 200, Group: 200, All: 400, Queue: 1024}
	// Each seat is for one read of older events from the upstream: at most 15 seconds, usually one or two.
	olderBounds = limit.Bounds{One: 128, Group: 256, All: 512, Queue: 1024, QueueAll: maxWaitingAll}
)

type limiter struct {
	draining context.Context // cancelled when watches must end
	lists    *limit.Seats    // for requests of the class large
	reads    *limit.Seats    // for requests of the class small
	older    *limit.Seats    // for watches that read events from before a lane's history
	sizes    *sizes
	buffered *semaphore.Weighted // limits the bytes that are read before their clients accept them
	timeout  time.Duration       // of requests that are not long-running
	shares   shares              // limits of each caller
	stalls   *limit.Stalls       // limits responses that their clients do not read
	memory   *budget.Budget      // nil means unlimited
}

func newLimiter(draining context.Context, timeout time.Duration) *limiter {
	return &limiter{
		draining: draining, timeout: timeout, lists: limit.NewSeats(listBounds), reads: limit.NewSeats(readBounds),
		older: limit.NewSeats(olderBounds), sizes: newSizes(),
		buffered: semaphore.NewWeighted(bufferedOverall),
	}
}

// admit accepts a request, or refuses it if a limit is exceeded. While the server shuts down, it refuses watches of
// objects, which would end immediately. After such an end, a client lists all objects again.
func (l *limiter) admit(ctx context.Context, out *reply, q *Request) error {
	if l.refusesNew(q) {
		return errDraining
	}
	return l.enter(ctx, out, q)
}

func (l *limiter) refusesNew(q *Request) bool {
	return q.isWatch() && q.method == http.MethodGet && isRead(q.info) && l.draining.Err() != nil
}

// forwardSeat takes a seat for a forwarded request; the caller must release it. cached is the size in bytes of the
// cached resource; 0 if it is not cached.
func (l *limiter) forwardSeat(ctx context.Context, q *Request, cached int64) (*forwardSeat, error) {
	p := &forwardSeat{limiter: l, q: q, leave: func() {}, cost: costOf(q)}
	pool, seats := l.reads, int64(1)
	switch p.cost {
	case free:
		return p, nil
	case small:
	case large:
		pool, seats = l.lists, seatsFor(max(cached, l.sizes.of(q)))
	}
	defer q.Event.Waited(observe.Queueing, q.Event.Waiting(observe.Queueing))
	waiting, cancel := context.WithTimeout(ctx, l.patience(ctx, q))
	defer cancel()
	leave, err := pool.Take(waiting, limit.Key{Group: q.resourceName(), One: q.Caller.Share()}, seats)
	switch {
	case err == nil:
		p.leave = leave
		return p, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, tooMany(0)
	}
}

// patience returns how long a request may wait in a queue: a quarter of its timeout, as in kube-apiserver's priority
// and fairness.
func (l *limiter) patience(ctx context.Context, q *Request) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return deadline.Sub(q.arrived) / 4
	}
	return l.timeout / 4
}
