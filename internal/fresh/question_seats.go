package fresh

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// maxQuestions is the maximum number of requests about single lanes in flight. Forwarded reads count, too, if a check
	// would have cost more. Below the limit, no request waits for another.
	maxQuestions = 4
	// seatWait is the lower bound of typicalWait. A healthy upstream answers a check in about a millisecond.
	seatWait = 5 * time.Millisecond
	// seatWaitMost is the upper bound of typicalWait, however long recent requests took.
	seatWaitMost = 50 * time.Millisecond
)

// questionSeats limits the requests in flight over all lanes. While a request waits for a seat, more readers join it,
// so sharing grows with load. A request waits for a seat only about as long as a response takes, and is then sent
// without one. On a slow connection, more requests are therefore in flight, but they do not wait longer.
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

// typicalWait returns how long a seat is typically taken, between seatWait and seatWaitMost.
func (t *questionSeats) typicalWait() time.Duration {
	return min(max(seatWait, time.Duration(t.typical.Load())), seatWaitMost)
}

// tryTake takes a seat if one is free.
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
