package fresh

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// questionsAtOnce is how many questions about single lanes may be on their way at a time, with the reads that the
	// upstream answers because a proof would have cost it more. While there are fewer, nobody waits for anybody.
	questionsAtOnce = 4
	// seatWait is how long one waits for a turn at least; a question takes about a millisecond when the upstream is
	// well.
	seatWait = 5 * time.Millisecond
	// seatWaitMost bounds how long a question is taken to be on its way, whatever the last ones took.
	seatWaitMost = 50 * time.Millisecond
)

// turns let a few questions be on their way at a time over all lanes. Who has to wait for a turn is joined by others
// meanwhile, so that sharing grows with load. No reader waits much longer for the turn than for the answer: on a
// connection where everything takes long there are more questions at a time, and not longer queues.
type questionSeats struct {
	taken   chan struct{}
	typical atomic.Int64 // nanoseconds that a question takes, smoothed over about the last eight
}

func newQuestionSeats() *questionSeats {
	return &questionSeats{taken: make(chan struct{}, questionsAtOnce)}
}

// take waits for a turn. The caller gives it back by the function that it returns.
func (t *questionSeats) take(ctx context.Context) (over func()) {
	if over, ok := t.tryTake(); ok {
		return over
	}
	timer := time.NewTimer(t.lasts())
	defer timer.Stop()
	select {
	case t.taken <- struct{}{}:
		return t.over
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}

// occupy takes a turn, if there is one, for a read that the upstream answers, for about as long as that keeps it busy:
// how long the client takes to read the answer is none of its business.
func (t *questionSeats) occupy() {
	if over, ok := t.tryTake(); ok {
		time.AfterFunc(t.lasts(), over)
	}
}

// lasts is how long a turn typically is.
func (t *questionSeats) lasts() time.Duration {
	return min(max(seatWait, time.Duration(t.typical.Load())), seatWaitMost)
}

// tryTake takes a turn if there is one.
func (t *questionSeats) tryTake() (over func(), ok bool) {
	select {
	case t.taken <- struct{}{}:
		return t.over, true
	default:
		return nil, false
	}
}

func (t *questionSeats) over() { <-t.taken }

// took takes note of how long a question was on its way.
func (t *questionSeats) took(d time.Duration) {
	typical := t.typical.Load()
	t.typical.CompareAndSwap(typical, typical+(int64(d)-typical)/8)
}
