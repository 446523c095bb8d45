package limit

import (
	"context"
	"math"
	"time"
)

// Paces bounds how often each key and each group starts work. Work beyond the rate waits in the queue of its key, in
// order, and the keys of a group take turns. Keys do not wait for other groups. Safe for concurrent use.
type Paces struct {
	seats      *Seats
	one, group time.Duration // intervals at which the seats of a key and of a group return
}

// NewPaces returns Paces that allow each key the same rate, and each group a multiple of it. PerSecond and Burst must
// be above 0. queue and queueAll bound the waiting requests per key and over all keys.
func NewPaces(perKey Rate, perGroup, queue, queueAll int) *Paces {
	burst := int64(max(perKey.Burst, 1))
	return &Paces{
		seats: NewSeats(Bounds{One: burst, Group: burst * int64(perGroup), All: math.MaxInt64, Queue: queue,
			QueueAll: queueAll}),
		one: seconds(1 / perKey.PerSecond), group: seconds(1 / perKey.PerSecond / float64(perGroup)),
	}
}

// Take waits until work of the key may start or the context ends. It returns ErrBusy if the queue is full or the
// context ended.
func (p *Paces) Take(ctx context.Context, key Key) error {
	w := p.seats.take(ctx, key, InTurns, 1)
	if !w.granted {
		return ErrBusy
	}
	p.returnAtRate(w)
	return nil
}

// TryTake reports whether work of the key may start now. If so, the work counts as in Take.
func (p *Paces) TryTake(key Key) bool {
	w := p.seats.tryTake(key, InTurns, 1)
	if w != nil {
		p.returnAtRate(w)
	}
	return w != nil
}

func (p *Paces) returnAtRate(w *waiter) {
	one, group := p.seats.returnLater(w.keyQueue, p.one, p.group)
	time.AfterFunc(one, func() { p.seats.returnToKey(w.keyQueue) })
	time.AfterFunc(group, func() { p.seats.returnToGroup(w.keyQueue.group) })
}

// Waiting returns the number of requests that wait.
func (p *Paces) Waiting() int { return p.seats.Load().Waiting }

func (p *Seats) returnLater(l *keyQueue, one, group time.Duration) (oneAfter, groupAfter time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	return later(&l.returns, now, one), later(&l.group.returns, now, group)
}

func later(returns *time.Time, now time.Time, every time.Duration) time.Duration {
	if returns.Before(now) {
		*returns = now
	}
	*returns = returns.Add(every)
	return returns.Sub(now)
}

func (p *Seats) returnToKey(l *keyQueue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.taken--
	p.enter(l)
	p.serve()
	p.forget(l)
}

func (p *Seats) returnToGroup(g *group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.taken--
	p.free++
	p.enterGroup(g)
	p.serve()
	p.forgetGroup(g)
}
