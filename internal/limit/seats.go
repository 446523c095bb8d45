package limit

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ErrBusy is returned when a limit is reached and the request does not wait, or no longer waits.
var ErrBusy = errors.New("too many concurrent requests")

// Bounds are the limits of Seats. Each must be above 0, except QueueAll.
type Bounds struct {
	One, Group, All int64 // seats: per key, per group, and in total
	Queue           int   // waiting requests per key
	QueueAll        int   // waiting requests in total; 0 is unlimited
}

// Key identifies a client (One) and its group, such as a service account and its namespace. A client without a group is
// a group by itself.
type Key struct{ Group, One string }

// Alone returns the key of a client without a group.
func Alone(name string) Key { return Key{Group: name, One: name} }

// Seats distributes seats between keys. When seats are short, groups take turns, and so do the keys of a group. More
// requests or keys do not give a group more turns. When too many requests wait, the last request of the longest queue
// of the group with the most waiting requests is refused. Safe for concurrent use.
type Seats struct {
	bounds Bounds

	mu      sync.Mutex          // guards the fields below and bounds; held while free seats are assigned
	free    int64               // free seats; below 0 after a reduction (resize)
	groups  map[groupKey]*group // groups with seats in use or waiting requests
	queues  [ranks]*list.List   // *group whose next request waits only for free seats, in the order of their turns
	passed  int                 // seats given to other ranks while a request of rank Last waits
	waiting census[*group]      // waiting requests by group
}

type groupKey struct {
	rank Rank
	name string
}

type group struct {
	key       groupKey
	taken     int64
	keyQueues map[string]*keyQueue // by key
	queue     *list.List           // *keyQueue whose first request fits the limit of the key, in the order of their turns
	queued    *list.Element        // element in Seats.queues; nil if the group is not in it
	waiting   census[*keyQueue]
	returns   time.Time // time at which the last of the scheduled seats returns (Paces)
}

type keyQueue struct {
	name  string
	group *group
	taken int64
	queue *list.List // *waiter, in order of arrival
	// queued is the element in group.queue. It is nil if no request waits, or if the first request must wait until its key
	// returns seats.
	queued  *list.Element
	returns time.Time // time at which the last of the scheduled seats returns (Paces)
}

type waiter struct {
	keyQueue *keyQueue
	element  *list.Element // element in the queue of the key; nil after the decision
	seats    int64
	granted  bool          // guarded by Seats.mu until decided is closed
	decided  chan struct{} // closed when the request is seated or refused; nil if it never waited
}

// NewSeats returns Seats that are all free.
func NewSeats(bounds Bounds) *Seats {
	p := &Seats{bounds: bounds, free: bounds.All, groups: map[groupKey]*group{}}
	for rank := range p.queues {
		p.queues[rank] = list.New()
	}
	return p
}

// Take takes seats for a key and waits for them until the context ends. It takes at least one seat and at most as many
// as the bounds allow. It returns ErrBusy if the queue is full or the context ended first. The caller calls leave to
// return the seats; further calls have no effect.
//
// A request whose turn has come keeps its turn until enough seats are free. Otherwise requests for few seats would
// starve requests for many.
func (p *Seats) Take(ctx context.Context, key Key, seats int64) (leave func(), err error) {
	w := p.take(ctx, key, InTurns, seats)
	if !w.granted {
		return nil, ErrBusy
	}
	return sync.OnceFunc(func() { p.release(w) }), nil
}

// take adds a request, and waits until it is granted or refused. The end of the context refuses it.
func (p *Seats) take(ctx context.Context, key Key, rank Rank, seats int64) *waiter {
	w := p.join(key, rank, seats)
	if w.decided != nil {
		select {
		case <-w.decided:
		case <-ctx.Done():
			p.giveUp(w)
		}
	}
	return w
}

// join gives a request its seats immediately if possible. Otherwise the request is queued, unless too many wait.
func (p *Seats) join(key Key, rank Rank, seats int64) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.keyQueue(groupKey{rank, key.Group}, key.One)
	w := &waiter{keyQueue: l, seats: max(1, min(seats, p.bounds.One, p.bounds.Group, p.bounds.All))}
	if p.seatNow(w) { // the usual case
		return w
	}
	w.decided = make(chan struct{})
	w.element = l.queue.PushBack(w)
	p.count(l)
	p.enter(l)
	p.serve()
	switch {
	case w.element == nil:
	case l.queue.Len() > p.bounds.Queue:
		p.decide(w, false)
	case p.bounds.QueueAll > 0 && p.waiting.all > p.bounds.QueueAll:
		longest := p.waiting.most(l.group).waiting.most(l)
		p.decide(longest.queue.Back().Value.(*waiter), false)
		p.serve() // the next request in the queue may need fewer seats
	}
	return w
}

// tryTake returns a request that has been granted, or nil if the request would have to wait.
func (p *Seats) tryTake(key Key, rank Rank, seats int64) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.keyQueue(groupKey{rank, key.Group}, key.One)
	w := &waiter{keyQueue: l, seats: seats}
	if !p.seatNow(w) {
		p.forget(l)
		return nil
	}
	return w
}

func (p *Seats) seatNow(w *waiter) bool {
	l := w.keyQueue
	w.granted = p.idle() && l.group.queue.Len() == 0 && l.queue.Len() == 0 && p.fits(w)
	if w.granted {
		p.seat(w)
	}
	return w.granted
}

func (p *Seats) keyQueue(key groupKey, one string) *keyQueue {
	g := p.groups[key]
	if g == nil {
		g = &group{key: key, keyQueues: map[string]*keyQueue{}, queue: list.New()}
		p.groups[key] = g
	}
	l := g.keyQueues[one]
	if l == nil {
		l = &keyQueue{name: one, group: g, queue: list.New()}
		g.keyQueues[one] = l
	}
	return l
}

// giveUp removes a request from the queue, unless it has been decided meanwhile.
func (p *Seats) giveUp(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.element != nil {
		p.decide(w, false)
		p.serve() // the next request in the queue may need fewer seats
	}
}

func (p *Seats) release(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := w.keyQueue
	l.taken -= w.seats
	l.group.taken -= w.seats
	p.free += w.seats
	p.enter(l)
	p.enterGroup(l.group)
	p.serve()
	p.forget(l)
}

func (p *Seats) serve() {
	for g := p.next(); g != nil; g = p.next() {
		l := g.queue.Front().Value.(*keyQueue)
		w := l.queue.Front().Value.(*waiter)
		if w.seats > p.free {
			return
		}
		p.seat(w)
		p.pass(g)
		p.decide(w, true)
		if l.queued != nil {
			g.queue.MoveToBack(l.queued)
		}
		p.enterGroup(g) // the next request of the group may belong to another key
		if g.queued != nil {
			p.queues[g.key.rank].MoveToBack(g.queued)
		}
	}
}

func (p *Seats) fits(w *waiter) bool {
	l := w.keyQueue
	return w.seats <= p.free && l.taken+w.seats <= p.bounds.One && l.group.taken+w.seats <= p.groupBound(l.group)
}

func (p *Seats) seat(w *waiter) {
	p.free -= w.seats
	w.keyQueue.taken += w.seats
	w.keyQueue.group.taken += w.seats
}

func (p *Seats) decide(w *waiter, seated bool) {
	w.keyQueue.queue.Remove(w.element)
	w.element, w.granted = nil, seated
	close(w.decided)
	p.count(w.keyQueue)
	p.enter(w.keyQueue)
	p.forget(w.keyQueue)
}

func (p *Seats) count(l *keyQueue) {
	l.group.waiting.note(l, l.queue.Len())
	p.waiting.note(l.group, l.group.waiting.all)
}

// enter queues a key in its group if its first request fits the limit of the key. Otherwise it dequeues the key.
func (p *Seats) enter(l *keyQueue) {
	first := l.queue.Front()
	ready := first != nil && l.taken+first.Value.(*waiter).seats <= p.bounds.One
	l.queued = enqueue(l.group.queue, l.queued, l, ready)
	p.enterGroup(l.group)
}

// enterGroup queues a group if its next request fits the limit of the group. Otherwise it dequeues the group.
func (p *Seats) enterGroup(g *group) {
	next := g.queue.Front()
	ready := next != nil && g.taken+next.Value.(*keyQueue).queue.Front().Value.(*waiter).seats <= p.groupBound(g)
	g.queued = enqueue(p.queues[g.key.rank], g.queued, g, ready)
}

// enqueue appends a ready value to the queue unless it is queued already. It removes a value that is not ready.
func enqueue(queue *list.List, element *list.Element, value any, ready bool) *list.Element {
	switch {
	case ready && element == nil:
		return queue.PushBack(value)
	case !ready && element != nil:
		queue.Remove(element)
		return nil
	}
	return element
}

// forget drops a key that has no seats and no waiting requests, because clients can create any number of keys.
func (p *Seats) forget(l *keyQueue) {
	if l.taken > 0 || l.queue.Len() > 0 {
		return
	}
	delete(l.group.keyQueues, l.name)
	p.forgetGroup(l.group)
}

func (p *Seats) forgetGroup(g *group) {
	if g.taken == 0 && len(g.keyQueues) == 0 {
		delete(p.groups, g.key)
	}
}
