package limit

import (
	"context"
	"sync"
	"time"
)

// Pace lets things begin at a rate: a burst at once, and from then on each in its turn, as Seats gives out seats. A
// seat comes back when the rate allows one more to begin. Safe for concurrent use.
type Pace struct {
	seats *Seats
	every time.Duration // between two beginnings

	mu   sync.Mutex // guards next
	next time.Time  // when the last seat comes back that was taken
}

// NewPace returns a pace at which nothing has begun; rate has a PerSecond above 0. At most queue wait for each key, and
// queueAll for all of them.
func NewPace(rate Rate, queue, queueAll int) *Pace {
	all := int64(max(rate.Burst, 1))
	return &Pace{
		seats: NewSeats(Bounds{One: all, Group: max(all/2, 1), All: all, Queue: queue, QueueAll: queueAll}),
		every: seconds(1 / rate.PerSecond),
	}
}

// Take waits until something of a key may begin, or the context ends. It fails with ErrBusy when it may not. settle is
// to be called once, with whether it counts: what does not gives its seat back at once, what does at the rate.
func (p *Pace) Take(ctx context.Context, key Key) (settle func(counts bool), err error) {
	leave, err := p.seats.Take(ctx, key, 1)
	if err != nil {
		return nil, err
	}
	return func(counts bool) {
		if counts {
			time.AfterFunc(p.comesBack(time.Now()), leave)
			return
		}
		leave()
	}, nil
}

// comesBack is after how long a seat that is taken now comes back: one at a time, at the rate.
func (p *Pace) comesBack(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(p.every)
	return p.next.Sub(now)
}
