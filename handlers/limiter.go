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

// Maximum work of the upstream for forwarded requests at a time. A seat of a list represents 1 MiB of its response.
// That allows eight lists of unknown size for one resource, and 24 in total. All other requests have 400 seats, which
// is kube-apiserver's default. Resources take turns, and within each resource its callers take turns.
var (
	listBounds = limit.Bounds{One: 8 * unknownSeats, Group: 8 * unknownSeats, All: 24 * unknownSeats, Queue: 512}
	readBounds = limit.Bounds{One: 200, Group: 200, All: 400, Queue: 1024}
	// Each seat is a watch of the upstream that lasts at most 15 seconds, usually one or two seconds (older_events.go).
	olderBounds = limit.Bounds{One: 128, Group: 256, All: 512, Queue: 1024, QueueAll: maxWaitingAll}
)

// limiter decides whether a request may continue now, later or not at all.
type limiter struct {
	draining context.Context // ends when the server begins to shut down
	lists    *limit.Seats    // for requests whose response may have any size
	reads    *limit.Seats    // for all other requests
	older    *limit.Seats    // for watches of the upstream that read events from before a lane's history
	sizes    *sizes
	buffered *semaphore.Weighted // bytes of responses that are read ahead of their clients
	timeout  time.Duration       // of requests that are not long-running
	shares   shares              // of each caller
	stalls   *limit.Stalls       // responses that their clients do not read
	memory   *budget.Budget      // nil means unlimited
}

func newLimiter(draining context.Context, timeout time.Duration) *limiter {
	return &limiter{
		draining: draining, timeout: timeout, lists: limit.NewSeats(listBounds), reads: limit.NewSeats(readBounds),
		older: limit.NewSeats(olderBounds), sizes: newSizes(),
		buffered: semaphore.NewWeighted(bufferedOverall),
	}
}

// admit accepts a request, or refuses it if a limit is exceeded. It refuses a watch that would end immediately because
// the server shuts down. Its client would otherwise list everything again.
func (l *limiter) admit(ctx context.Context, out *reply, q *Request) error {
	if l.refusesNew(q) {
		return errDraining
	}
	return l.enter(ctx, out, q)
}

// refusesNew reports whether a request is a watch that would end immediately.
func (l *limiter) refusesNew(q *Request) bool {
	return q.isWatch() && q.method == http.MethodGet && isRead(q.info) && l.draining.Err() != nil
}

// forwardSeat takes a seat for a forwarded request; the caller must release it. cached is the size in bytes of the
// resource in the cache, or 0.
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
		return nil, &notReadyError{cause: errBusy}
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
