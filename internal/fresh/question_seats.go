package fresh

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// maxQuestions is the maximum number of requests about single lanes in flight. Small forwarded reads count, too. Below
	// the limit, the requests of different lanes do not wait for each other.
	maxQuestions = 4
	// seatWait and seatWaitMost are the bounds of typicalWait. A healthy upstream answers a check in about a millisecond.
	seatWait     = 5 * time.Millisecond
	seatWaitMost = 50 * time.Millisecond
)

// questionSeats limits the requests in flight about single lanes. While a request waits for a seat, more readers join
// it, so sharing grows with load. It waits only about as long as a response takes, and is then sent without a seat.
type questionSeats struct {
	taken   chan struct{}
	typical atomic.Int64 // nanoseconds per request, smoothed over about the last eight
}

func newQuestionSeats() *questionSeats {
	return &questionSeats{taken: make(chan struct{}, maxQuestions)}
}

// take waits for a seat, at most typicalWait. The caller calls release when its request has ended.
func (t *questionSeats) take(ctx context.Context) (release func()) {
	if release, ok := t.tryTake(); ok {
		return release
	}
	timer := time.NewTimer(t.typicalWait())
	defer timer.Stop()
	select {
	case t.taken <- struct{}{}:
		return t.release
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}

// occupy takes a free seat, if there is one, for a forwarded read. It keeps the seat for the typical duration of a
// request, because a client may take much longer to read the response.
func (t *questionSeats) occupy() {
	if release, ok := t.tryTake(); ok {
		time.AfterFunc(t.typicalWait(), release)
	}
}

func (t *questionSeats) typicalWait() time.Duration {
	return min(max(seatWait, time.Duration(t.typical.Load())), seatWaitMost)
}

func (t *questionSeats) tryTake() (release func(), ok bool) {
	select {
	case t.taken <- struct{}{}:
		return t.release, true
	default:
		return nil, false
	}
}

func (t *questionSeats) release() { <-t.taken }

func (t *questionSeats) observe(d time.Duration) {
	typical := t.typical.Load()
	t.typical.CompareAndSwap(typical, typical+(int64(d)-typical)/8)
}
