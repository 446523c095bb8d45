package limit

import (
	"context"
	"sync"
	"time"
)

// Pace bounds how often work starts, for all keys together. A burst may start immediately. Further work waits for a
// seat, and keys take turns as in Seats. Seats return at the configured rate (see Take). Safe for concurrent use.
type Pace struct {
	seats *Seats
	every time.Duration // interval at which seats return

	mu   sync.Mutex // guards next
	next time.Time  // time at which the last of the scheduled seats returns
}

// NewPace returns a Pace with all seats free. rate.PerSecond must be above 0. queue and queueAll bound the waiting
// requests per key and over all keys; a queueAll of 0 is unlimited.
func NewPace(rate Rate, queue, queueAll int) *Pace {
	all := int64(max(rate.Burst, 1))
	return &Pace{
		seats: NewSeats(Bounds{One: all, Group: max(all/2, 1), All: all, Queue: queue, QueueAll: queueAll}),
		every: seconds(1 / rate.PerSecond),
	}
}

// Take waits until work of the key may start or the context ends. It returns ErrBusy if the queue is full or the
// context ended. The caller must call settle exactly once: settle(true) returns the seat at the configured rate,
// settle(false) returns it immediately.
func (p *Pace) Take(ctx context.Context, key Key) (settle func(counts bool), err error) {
	leave, err := p.seats.Take(ctx, key, 1)
	if err != nil {
		return nil, err
	}
	return func(counts bool) {
		if counts {
			time.AfterFunc(p.returnDelay(time.Now()), leave)
			return
		}
		leave()
	}, nil
}

// returnDelay returns the time until a seat that is settled now comes back. Seats come back one at a time, at the rate.
func (p *Pace) returnDelay(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(p.every)
	return p.next.Sub(now)
}
