package fresh

import (
	"context"
	"sync"
	"time"
)

// groupCommit asks a question on behalf of all who want its answer. One question is on its way at a time; whoever comes
// meanwhile shares the next one. So a question is always sent after everybody who gets its answer began to wait: what
// was written before that is in the answer.
type groupCommit[T any] struct {
	ask   func(ctx context.Context, party party) (T, error)
	seats *questionSeats                        // of questions that are about one lane; nil: none are needed
	start func(work func(context.Context)) bool // runs work in the background; false when that is over

	mu   sync.Mutex
	next *question[T] // the one that the next caller joins: not sent yet
	seat chan struct{}
}

// party is who shares a question.
type party struct {
	price time.Duration // what it would take the upstream to answer all of them instead
}

// question is one question with its answer.
type question[T any] struct {
	party  party // guarded by groupCommit.mu until the question is closed to newcomers
	done   chan struct{}
	answer T
	err    error
}

func newGroupCommit[T any](
	t *questionSeats, start func(func(context.Context)) bool, ask func(context.Context, party) (T, error),
) *groupCommit[T] {
	return &groupCommit[T]{ask: ask, seats: t, start: start, seat: make(chan struct{}, 1)}
}

// get returns the answer to a question that is sent after the call began. price is what it would take the upstream to
// answer the caller's own read.
func (g *groupCommit[T]) get(ctx context.Context, price time.Duration) (T, error) {
	var nothing T
	q, ok := g.join(price)
	if !ok {
		return nothing, errOver
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
	q.party.price += price
	return q, true
}

// run waits until the question before this one is answered and a turn is free, closes it to newcomers, and asks.
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
		q.err = errOver
	}
	g.mu.Lock()
	g.next = nil
	g.mu.Unlock()
	if q.err != nil {
		q.err = errOver
		return
	}
	ctx, cancel := context.WithTimeout(ctx, questionWait)
	defer cancel()
	q.answer, q.err = g.ask(ctx, q.party)
}

// questionWait is how long the upstream may take to answer a question that proves freshness; it takes milliseconds when
// well.
const questionWait = 10 * time.Second
