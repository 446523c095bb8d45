package auth

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/listfacade/listfacade/internal/limit"
)

const (
	// turnWait is how long a review waits for its turn.
	turnWait = 10 * time.Second
	// maxWaiting bounds the reviews that wait for a turn at one budget. Beyond it the longest queue loses its last.
	maxWaiting = 2048
)

// failureBudget bounds the failures of many sources: so many at once, and then so many a second. A review holds a seat.
// A token that proves somebody gives the seat back at once, one that proves nobody gives it back at the budget's rate.
// Networks take turns for seats that are short, and the sources of a network do, and one network has half of the seats
// at most. Safe for concurrent use.
type failureBudget struct {
	seats *limit.Places
	every time.Duration // between two seats that failures give back

	mu   sync.Mutex // guards next
	next time.Time  // when the last of them is given back
}

func newFailureBudget(perSecond rate.Limit, burst int) *failureBudget {
	half := max(1, int64(burst)/2)
	return &failureBudget{
		seats: limit.NewPlaces(limit.Bounds{One: half, Group: half, All: int64(burst), Queue: maxWaiting, QueueAll: maxWaiting}),
		every: time.Duration(min(float64(time.Second)/float64(perSecond), math.MaxInt64/2)),
	}
}

// take waits for a seat. settled is to be called once.
func (b *failureBudget) take(ctx context.Context, key limit.Key) (settled func(failed bool), err error) {
	ctx, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	leave, err := b.seats.Take(ctx, key, 1)
	if err != nil {
		return nil, err
	}
	return func(failed bool) {
		if failed {
			time.AfterFunc(b.untilGivenBack(), leave)
			return
		}
		leave()
	}, nil
}

// untilGivenBack is how long a seat is held after a failure: until after those of earlier failures are given back.
func (b *failureBudget) untilGivenBack() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.next.Before(now) {
		b.next = now
	}
	b.next = b.next.Add(b.every)
	return b.next.Sub(now)
}
