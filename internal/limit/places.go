package limit

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// ErrBusy says that there is no place, and no sense in waiting for one any longer.
var ErrBusy = errors.New("too many requests at once")

// Bounds are how much may be under way at a time. All of them are above 0, but for QueueAll.
type Bounds struct {
	Each, All int64 // seats, of one key and over all keys
	Queue     int   // requests that wait, of one key
	QueueAll  int   // requests that wait, over all keys; 0 is any number
}

// Places gives out seats, by key. When they are short, the keys take turns: whoever waits for one of few waits for at
// most one turn of each other key, however many wait for those. Safe for concurrent use.
type Places struct {
	bounds Bounds

	mu      sync.Mutex       // guards all below; held for the work of granting what has become free
	free    int64            // seats
	waiting int              // requests, over all keys
	lines   map[string]*line // of the keys that somebody has or wants seats of
	turns   *list.List       // of the *line that could go on if there were seats, the next first
}

// line is those who have or want seats of one key.
type line struct {
	key   string
	taken int64
	queue *list.List // of *waiter
	// turn is its place in Places.turns; nil when nobody waits, or the first who does waits for the key's own seats.
	turn *list.Element
}

type waiter struct {
	seats   int64
	granted chan struct{} // closed once they are
}

// NewPlaces returns places of which none is taken.
func NewPlaces(bounds Bounds) *Places {
	return &Places{bounds: bounds, free: bounds.All, lines: map[string]*line{}, turns: list.New()}
}

// Take takes seats of a key, and waits for them until the context ends; who wants more than there are takes all, who
// wants none takes one. It fails with ErrBusy when it was not given them. leave gives them back; it may be called
// again.
//
// Who has the turn and wants more seats than are free keeps it until they are: else those who want many would wait for
// ever behind those who want few.
func (p *Places) Take(ctx context.Context, key string, seats int64) (leave func(), err error) {
	seats = max(1, min(seats, p.bounds.Each, p.bounds.All))
	w := &waiter{seats: seats, granted: make(chan struct{})}
	at, err := p.join(key, w)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.granted:
	case <-ctx.Done():
		if p.giveUp(key, at) {
			return nil, ErrBusy
		}
	}
	return sync.OnceFunc(func() { p.release(key, seats) }), nil
}

// join enters a key's line, and goes through it at once where that is possible; else it stays, unless too many wait.
func (p *Places) join(key string, w *waiter) (*list.Element, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[key]
	if l == nil {
		l = &line{key: key, queue: list.New()}
		p.lines[key] = l
	}
	at := l.queue.PushBack(w)
	p.waiting++
	p.enter(l)
	p.grant()
	full := l.queue.Len() > p.bounds.Queue || p.bounds.QueueAll > 0 && p.waiting > p.bounds.QueueAll
	if full && !w.isGranted() {
		p.drop(l, at)
		return nil, ErrBusy
	}
	return at, nil
}

// giveUp leaves the queue; false when the seats were granted meanwhile.
func (p *Places) giveUp(key string, at *list.Element) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.Value.(*waiter).isGranted() {
		return false
	}
	p.drop(p.lines[key], at)
	p.grant() // who stood behind may want less
	return true
}

func (p *Places) release(key string, seats int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[key]
	l.taken -= seats
	p.free += seats
	p.enter(l)
	p.grant()
	p.forget(l)
}

// grant gives what is free to those whose turn it is.
func (p *Places) grant() {
	for e := p.turns.Front(); e != nil; e = p.turns.Front() {
		l := e.Value.(*line)
		first := l.queue.Front()
		w := first.Value.(*waiter)
		if w.seats > p.free {
			return
		}
		p.free -= w.seats
		l.taken += w.seats
		close(w.granted)
		p.drop(l, first)
		if l.turn != nil {
			p.turns.MoveToBack(l.turn)
		}
	}
}

// drop takes a waiter out of its line.
func (p *Places) drop(l *line, at *list.Element) {
	l.queue.Remove(at)
	p.waiting--
	p.enter(l)
	p.forget(l)
}

// enter gives a line a turn if its first could go on, and takes it away if not.
func (p *Places) enter(l *line) {
	first := l.queue.Front()
	waits := first != nil && l.taken+first.Value.(*waiter).seats <= p.bounds.Each
	switch {
	case waits && l.turn == nil:
		l.turn = p.turns.PushBack(l)
	case !waits && l.turn != nil:
		p.turns.Remove(l.turn)
		l.turn = nil
	}
}

// forget drops a line with the last who is in it: keys are what clients ask for, and may be any number.
func (p *Places) forget(l *line) {
	if l.taken == 0 && l.queue.Len() == 0 {
		delete(p.lines, l.key)
	}
}

func (w *waiter) isGranted() bool {
	select {
	case <-w.granted:
		return true
	default:
		return false
	}
}
