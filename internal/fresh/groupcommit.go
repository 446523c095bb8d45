package fresh

import (
	"context"
	"sync"
	"time"
)

// groupCommit sends one request for all readers that want its response. One request is in flight at a time, and readers
// that arrive meanwhile share the next one. So each request is sent after all its readers began to wait, and its
// response includes every write that finished before that.
type groupCommit[T any] struct {
	ask   func(ctx context.Context, waiters waiters) (T, error)
	seats *questionSeats                        // bounds the requests about single lanes; nil for no bound
	start func(work func(context.Context)) bool // runs work in the background; returns false when stopping

	mu   sync.Mutex
	next *question[T] // request that the next reader joins; not sent yet
	seat chan struct{}
}

type waiters struct {
	price time.Duration // total price of the upstream's answers to all these readers
}

type question[T any] struct {
	waiters waiters // guarded by groupCommit.mu until no further reader may join
	done    chan struct{}
	answer  T
	err     error
}

func newGroupCommit[T any](
	t *questionSeats, start func(func(context.Context)) bool, ask func(context.Context, waiters) (T, error),
) *groupCommit[T] {
	return &groupCommit[T]{ask: ask, seats: t, start: start, seat: make(chan struct{}, 1)}
}

// get returns the response to a request that is sent after the call began. price is what the upstream's answer to the
// caller's read would cost.
func (g *groupCommit[T]) get(ctx context.Context, price time.Duration) (T, error) {
	var nothing T
	q, ok := g.join(price)
	if !ok {
		return nothing, errStopped
	}
	select {
	case <-q.done:
		return q.answer, q.err
	case <-ctx.Done():
		return nothing, ctx.Err()
	}
}

func (g *groupCommit[T]) join(price time.Duration) (*question[T], bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.next
	if q == nil {
		q = &question[T]{done: make(chan struct{})}
		if !g.start(func(ctx context.Context) { g.run(ctx, q) }) {
			return nil, false
		}
		g.next = q
	}
	q.waiters.price += price
	return q, true
}

// run waits for the response to the previous request, and briefly for a seat. It then lets no further reader join, and
// sends the request.
func (g *groupCommit[T]) run(ctx context.Context, q *question[T]) {
	defer close(q.done)
	select {
	case g.seat <- struct{}{}:
		defer func() { <-g.seat }()
		if g.seats != nil {
			defer g.seats.take(ctx)()
		}
		q.err = ctx.Err()
	case <-ctx.Done():
		q.err = errStopped
	}
	g.mu.Lock()
	g.next = nil
	g.mu.Unlock()
	if q.err != nil {
		q.err = errStopped
		return
	}
	ctx, cancel := context.WithTimeout(ctx, questionWait)
	defer cancel()
	q.answer, q.err = g.ask(ctx, q.waiters)
}

// questionWait is the timeout of a request for a freshness check. A healthy upstream answers within milliseconds.
const questionWait = 10 * time.Second
