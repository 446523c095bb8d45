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
	One, Group, All int64 // seats: of one key, of all keys of a group, and of everybody
	Queue           int   // requests that wait, of one key
	QueueAll        int   // requests that wait, of everybody; 0 is any number
}

// Key names who takes seats: one of a group, such as a service account of a namespace. Who belongs to no group is one
// by itself.
type Key struct{ Group, One string }

// Alone is the key of somebody who belongs to no group.
func Alone(name string) Key { return Key{Group: name, One: name} }

// Seats gives out seats, by key. When they are short, the groups take turns, and in a group its keys: whoever waits
// for one of few waits for at most one turn of each other group, however many wait there and however many keys they
// have. When too many wait, the longest line of the group of which most wait loses its last. Safe for concurrent use.
type Seats struct {
	bounds Bounds

	mu      sync.Mutex        // guards all below; held for the work of granting what has become free
	free    int64             // seats
	groups  map[string]*group // that somebody has or wants seats of
	queue   *list.List        // of the *group that could go on if there were seats, the next first
	waiting census[*group]    // of whom how many wait
}

// group is those who have or want seats of the keys of one group.
type group struct {
	name    string
	taken   int64
	lines   map[string]*line // by key
	queue   *list.List       // of the *line that could go on if there were seats of the group, the next first
	queued  *list.Element    // in Seats.turns; nil when none of the lines could go on
	waiting census[*line]
}

// line is those who have or want seats of one key.
type line struct {
	name  string
	group *group
	taken int64
	queue *list.List // of *waiter
	// turn is its place in group.turns; nil when nobody waits, or the first who does waits for the key's own seats.
	queued *list.Element
}

type waiter struct {
	line    *line
	at      *list.Element // in the line's queue; nil when it is decided
	seats   int64
	granted bool          // guarded by Seats.mu until decided is closed
	decided chan struct{} // closed when the seats are granted, or refused; nil when they were granted at once
}

// NewSeats returns places of which none is taken.
func NewSeats(bounds Bounds) *Seats {
	return &Seats{bounds: bounds, free: bounds.All, groups: map[string]*group{}, queue: list.New()}
}

// Take takes seats of a key, and waits for them until the context ends; who wants more than there are takes all, who
// wants none takes one. It fails with ErrBusy when it was not given them. leave gives them back; it may be called
// again.
//
// Who has the turn and wants more seats than are free keeps it until they are: else those who want many would wait for
// ever behind those who want few.
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

// join enters a key's line, and goes through it at once where that is possible; else it stays, unless too many wait.
func (p *Seats) join(key Key, seats int64) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &waiter{line: p.line(key), seats: seats}
	l := w.line
	if p.queue.Len() == 0 && l.group.queue.Len() == 0 && l.queue.Len() == 0 && p.fits(w) { // almost always
		p.seat(w)
		w.granted = true
		return w
	}
	w.decided = make(chan struct{})
	w.at = l.queue.PushBack(w)
	p.count(l)
	p.enter(l)
	p.serve()
	switch {
	case w.at == nil:
	case l.queue.Len() > p.bounds.Queue:
		p.decide(w, false)
	case p.bounds.QueueAll > 0 && p.waiting.all > p.bounds.QueueAll:
		longest := p.waiting.most(l.group).waiting.most(l)
		p.decide(longest.queue.Back().Value.(*waiter), false)
		p.serve() // who stood behind may want less
	}
	return w
}

// line finds the line of a key, which may be new.
func (p *Seats) line(key Key) *line {
	g := p.groups[key.Group]
	if g == nil {
		g = &group{name: key.Group, lines: map[string]*line{}, queue: list.New()}
		p.groups[key.Group] = g
	}
	l := g.lines[key.One]
	if l == nil {
		l = &line{name: key.One, group: g, queue: list.New()}
		g.lines[key.One] = l
	}
	return l
}

// giveUp leaves the queue, unless it is decided meanwhile.
func (p *Seats) giveUp(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.at != nil {
		p.decide(w, false)
		p.serve() // who stood behind may want less
	}
}

func (p *Seats) release(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := w.line
	l.taken -= w.seats
	l.group.taken -= w.seats
	p.free += w.seats
	p.enter(l)
	p.enterGroup(l.group)
	p.serve()
	p.forget(l)
}

// grant gives what is free to those whose turn it is.
func (p *Seats) serve() {
	for e := p.queue.Front(); e != nil; e = p.queue.Front() {
		g := e.Value.(*group)
		l := g.queue.Front().Value.(*line)
		w := l.queue.Front().Value.(*waiter)
		if w.seats > p.free {
			return
		}
		p.seat(w)
		p.decide(w, true)
		if l.queued != nil {
			g.queue.MoveToBack(l.queued)
		}
		p.enterGroup(g) // another line is its next
		if g.queued != nil {
			p.queue.MoveToBack(g.queued)
		}
	}
}

// fits reports whether there are seats for a waiter now.
func (p *Seats) fits(w *waiter) bool {
	l := w.line
	return w.seats <= p.free && l.taken+w.seats <= p.bounds.One && l.group.taken+w.seats <= p.bounds.Group
}

// seat takes seats that fit.
func (p *Seats) seat(w *waiter) {
	p.free -= w.seats
	w.line.taken += w.seats
	w.line.group.taken += w.seats
}

// decide takes a waiter out of its line, and tells it.
func (p *Seats) decide(w *waiter, seated bool) {
	w.line.queue.Remove(w.at)
	w.at, w.granted = nil, seated
	close(w.decided)
	p.count(w.line)
	p.enter(w.line)
	p.forget(w.line)
}

// count notes how many wait in a line.
func (p *Seats) count(l *line) {
	l.group.waiting.note(l, l.queue.Len())
	p.waiting.note(l.group, l.group.waiting.all)
}

// enter gives a line a turn if its first could go on, and takes it away if not.
func (p *Seats) enter(l *line) {
	first := l.queue.Front()
	waits := first != nil && l.taken+first.Value.(*waiter).seats <= p.bounds.One
	l.queued = enqueue(l.group.queue, l.queued, l, waits)
	p.enterGroup(l.group)
}

// enterGroup does so with a group.
func (p *Seats) enterGroup(g *group) {
	next := g.queue.Front()
	waits := next != nil && g.taken+next.Value.(*line).queue.Front().Value.(*waiter).seats <= p.bounds.Group
	g.queued = enqueue(p.queue, g.queued, g, waits)
}

// turn puts who waits at the end of the turns, unless it has one, and takes out who does not.
func enqueue(turns *list.List, at *list.Element, who any, waits bool) *list.Element {
	switch {
	case waits && at == nil:
		return turns.PushBack(who)
	case !waits && at != nil:
		turns.Remove(at)
		return nil
	}
	return at
}

// forget drops a line with the last who is in it: keys are what clients ask for, and may be any number.
func (p *Seats) forget(l *line) {
	if l.taken > 0 || l.queue.Len() > 0 {
		return
	}
	delete(l.group.lines, l.name)
	if len(l.group.lines) == 0 {
		delete(p.groups, l.group.name)
	}
}
