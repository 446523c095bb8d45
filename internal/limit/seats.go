package limit

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// ErrBusy is returned when a limit is reached and the request does not wait, or no longer waits.
var ErrBusy = errors.New("too many concurrent requests")

// Bounds are the limits of Seats. All must be above 0, except QueueAll.
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

// Seats distributes a fixed number of seats between keys. When seats are short, groups take turns, and so do the keys
// of a group. A waiting request is delayed by at most one turn of each other group, however many requests and keys that
// group has. When too many requests wait, the last request of the longest queue of the group with the most waiting
// requests is refused. Safe for concurrent use.
type Seats struct {
	bounds Bounds

	mu      sync.Mutex        // guards the fields below; held while free seats are assigned
	free    int64             // free seats
	groups  map[string]*group // groups with seats in use or waiting requests
	queue   *list.List        // *group whose next request waits only for free seats, in the order of their turns
	waiting census[*group]    // waiting requests by group
}

// group is the seats and waiting requests of one group.
type group struct {
	name      string
	taken     int64
	keyQueues map[string]*keyQueue // by key
	queue     *list.List           // *keyQueue whose first request fits the limit of the key, in the order of their turns
	queued    *list.Element        // element in Seats.queue; nil if the group is not in it
	waiting   census[*keyQueue]
}

// keyQueue is the seats and waiting requests of one key.
type keyQueue struct {
	name  string
	group *group
	taken int64
	queue *list.List // *waiter, in order of arrival
	// queued is the element in group.queue. It is nil if no request waits, or if the first one must wait until its key
	// returns seats.
	queued *list.Element
}

type waiter struct {
	keyQueue *keyQueue
	element  *list.Element // element in the queue of the key; nil once decided
	seats    int64
	granted  bool          // guarded by Seats.mu until decided is closed
	decided  chan struct{} // closed when the request is seated or refused; nil if it never waited
}

// NewSeats returns Seats that are all free.
func NewSeats(bounds Bounds) *Seats {
	return &Seats{bounds: bounds, free: bounds.All, groups: map[string]*group{}, queue: list.New()}
}

// Take takes seats for a key and waits for them until the context ends. It takes at least one seat and at most as many
// as the bounds allow. It returns ErrBusy if the queue is full or the context ended first. The caller calls leave to
// return the seats; further calls have no effect.
//
// A request whose turn has come keeps its turn until enough seats are free. Otherwise requests for few seats would
// starve requests for many.
func (p *Seats) Take(ctx context.Context, key Key, seats int64) (leave func(), err error) {
	seats = max(1, min(seats, p.bounds.One, p.bounds.Group, p.bounds.All))
	w := p.join(key, seats)
	if w.decided != nil {
		select {
		case <-w.decided:
		case <-ctx.Done():
			p.giveUp(w)
		}
	}
	if !w.granted {
		return nil, ErrBusy
	}
	return sync.OnceFunc(func() { p.release(w) }), nil
}

// join seats a request immediately if possible. Otherwise the request is queued, unless too many requests wait.
func (p *Seats) join(key Key, seats int64) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &waiter{keyQueue: p.keyQueue(key), seats: seats}
	l := w.keyQueue
	if p.queue.Len() == 0 && l.group.queue.Len() == 0 && l.queue.Len() == 0 && p.fits(w) { // the usual case
		p.seat(w)
		w.granted = true
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
		p.serve() // the request behind it may need fewer seats
	}
	return w
}

// keyQueue returns the queue of a key and creates it if needed.
func (p *Seats) keyQueue(key Key) *keyQueue {
	g := p.groups[key.Group]
	if g == nil {
		g = &group{name: key.Group, keyQueues: map[string]*keyQueue{}, queue: list.New()}
		p.groups[key.Group] = g
	}
	l := g.keyQueues[key.One]
	if l == nil {
		l = &keyQueue{name: key.One, group: g, queue: list.New()}
		g.keyQueues[key.One] = l
	}
	return l
}

// giveUp removes a request from the queue, unless it has been decided meanwhile.
func (p *Seats) giveUp(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.element != nil {
		p.decide(w, false)
		p.serve() // the request behind it may need fewer seats
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

// serve assigns free seats to waiting requests in turn.
func (p *Seats) serve() {
	for e := p.queue.Front(); e != nil; e = p.queue.Front() {
		g := e.Value.(*group)
		l := g.queue.Front().Value.(*keyQueue)
		w := l.queue.Front().Value.(*waiter)
		if w.seats > p.free {
			return
		}
		p.seat(w)
		p.decide(w, true)
		if l.queued != nil {
			g.queue.MoveToBack(l.queued)
		}
		p.enterGroup(g) // the next request of the group may belong to another key
		if g.queued != nil {
			p.queue.MoveToBack(g.queued)
		}
	}
}

// fits reports whether a request can be seated now.
func (p *Seats) fits(w *waiter) bool {
	l := w.keyQueue
	return w.seats <= p.free && l.taken+w.seats <= p.bounds.One && l.group.taken+w.seats <= p.bounds.Group
}

// seat takes the seats of a request that fits.
func (p *Seats) seat(w *waiter) {
	p.free -= w.seats
	w.keyQueue.taken += w.seats
	w.keyQueue.group.taken += w.seats
}

// decide removes a request from its queue and notifies its goroutine.
func (p *Seats) decide(w *waiter, seated bool) {
	w.keyQueue.queue.Remove(w.element)
	w.element, w.granted = nil, seated
	close(w.decided)
	p.count(w.keyQueue)
	p.enter(w.keyQueue)
	p.forget(w.keyQueue)
}

// count updates the numbers of waiting requests.
func (p *Seats) count(l *keyQueue) {
	l.group.waiting.note(l, l.queue.Len())
	p.waiting.note(l.group, l.group.waiting.all)
}

// enter puts a key in the queue of its group if its first request fits the limit of the key, and removes the key
// otherwise.
func (p *Seats) enter(l *keyQueue) {
	first := l.queue.Front()
	ready := first != nil && l.taken+first.Value.(*waiter).seats <= p.bounds.One
	l.queued = enqueue(l.group.queue, l.queued, l, ready)
	p.enterGroup(l.group)
}

// enterGroup puts a group in the queue of groups if its next request fits the limit of the group, and removes the group
// otherwise.
func (p *Seats) enterGroup(g *group) {
	next := g.queue.Front()
	ready := next != nil && g.taken+next.Value.(*keyQueue).queue.Front().Value.(*waiter).seats <= p.bounds.Group
	g.queued = enqueue(p.queue, g.queued, g, ready)
}

// enqueue appends a value to the queue if it is ready and not queued yet, and removes it if it is not ready.
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

// forget drops a key without seats and waiting requests, because clients can create any number of keys.
func (p *Seats) forget(l *keyQueue) {
	if l.taken > 0 || l.queue.Len() > 0 {
		return
	}
	delete(l.group.keyQueues, l.name)
	if len(l.group.keyQueues) == 0 {
		delete(p.groups, l.group.name)
	}
}
