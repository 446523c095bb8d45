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
	pace  *pace
	ask   func(ctx context.Context) (T, error)
	start func(work func(context.Context)) bool // runs work in the background; false when that is over

	mu   sync.Mutex
	next *question[T] // the one that the next caller joins: not sent yet
	turn chan struct{}
}

// question is one question with its answer.
type question[T any] struct {
	done   chan struct{}
	answer T
	err    error
}

func newGroupCommit[T any](p *pace, start func(func(context.Context)) bool, ask func(context.Context) (T, error)) *groupCommit[T] {
	return &groupCommit[T]{pace: p, ask: ask, start: start, turn: make(chan struct{}, 1)}
}

// get returns the answer to a question that is sent after the call began.
func (g *groupCommit[T]) get(ctx context.Context) (T, error) {
	var nothing T
	q, ok := g.join()
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

func (g *groupCommit[T]) join() (*question[T], bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next != nil {
		return g.next, true
	}
	q := &question[T]{done: make(chan struct{})}
	if !g.start(func(ctx context.Context) { g.run(ctx, q) }) {
		return nil, false
	}
	g.next = q
	return q, true
}

// run waits until the question before this one is answered and the pace allows another, closes it to newcomers, and
// asks.
func (g *groupCommit[T]) run(ctx context.Context, q *question[T]) {
	defer close(q.done)
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
		if g.pace.await(ctx) != nil {
			q.err = errOver
		}
	case <-ctx.Done():
		q.err = errOver
	}
	g.mu.Lock()
	g.next = nil
	g.mu.Unlock()
	if q.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, questionWait)
	defer cancel()
	q.answer, q.err = g.ask(ctx)
}

// questionWait is how long the upstream may take to answer a question that proves freshness; it takes milliseconds when
// well.
const questionWait = 10 * time.Second
