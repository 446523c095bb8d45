package auth

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/listfacade/listfacade/internal/limit"
)

const (
	// seatWait is how long a review waits for its turn.
	seatWait = 10 * time.Second
	// maxWaiting bounds the reviews that wait for a turn at one budget. Beyond it the longest queue loses its last.
	maxWaiting = 2048
)

// failureBudget bounds the failures of many sources: so many at once, and then so many a second. A review holds a seat.
// A token that proves somebody gives the seat back at once, one that proves nobody gives it back at the budget's rate.
// Networks take turns for seats that are short, and the sources of a network do, and one network has half of the seats
// at most. Safe for concurrent use.
type failureBudget struct{ pace *limit.Pace }

func newFailureBudget(perSecond rate.Limit, burst int) *failureBudget {
	return &failureBudget{pace: limit.NewPace(limit.Rate{PerSecond: float64(perSecond), Burst: burst}, maxWaiting, maxWaiting)}
}

// take waits for a seat. settled is to be called once.
func (b *failureBudget) take(ctx context.Context, key limit.Key) (settled func(failed bool), err error) {
	ctx, cancel := context.WithTimeout(ctx, seatWait)
	defer cancel()
	return b.pace.Take(ctx, key)
}
