package auth

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/listfacade/listfacade/internal/limit"
)

const (
	// seatWait is the maximum time that a review waits for a seat.
	seatWait = 10 * time.Second
	// maxWaiting is the maximum number of reviews that wait for one budget.
	maxWaiting = 2048
)

// failureBudget bounds the failed token reviews of many sources, as a burst and per second. A review takes a seat.
// After a valid token, the seat returns immediately. After an invalid token, the seat returns at the budget's rate.
// Networks (priorityOf) take turns for seats, and so do the sources of a network. One network has at most half of the
// seats. Safe for concurrent use.
type failureBudget struct{ pace *limit.Pace }

func newFailureBudget(perSecond rate.Limit, burst int) *failureBudget {
	return &failureBudget{pace: limit.NewPace(limit.Rate{PerSecond: float64(perSecond), Burst: burst}, maxWaiting,
		maxWaiting)}
}

// take waits for a seat. The caller must call settled exactly once.
func (b *failureBudget) take(ctx context.Context, key limit.Key) (settled func(failed bool), err error) {
	ctx, cancel := context.WithTimeout(ctx, seatWait)
	defer cancel()
	return b.pace.Take(ctx, key)
}
