package limit

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/semaphore"
)

// ErrBusy says that there is no place, and no sense in waiting for one any longer.
var ErrBusy = errors.New("too many requests at once")

// Bounds are how much may be under way at a time. All of them are above 0.
type Bounds struct {
	Each, All int64 // seats, of one key and over all keys
	Queue     int   // requests that wait, of one key
}

// Places gives out seats, by key. Safe for concurrent use.
type Places struct {
	bounds Bounds
	all    *semaphore.Weighted

	mu    sync.Mutex       // guards lines and the counts in them; held for map operations only
	lines map[string]*line // of the keys that somebody has or wants seats of
}

// line is those who have or want seats of one key.
type line struct {
	seats           *semaphore.Weighted
	people, waiting int
}

// NewPlaces returns places of which none is taken.
func NewPlaces(bounds Bounds) *Places {
	return &Places{bounds: bounds, all: semaphore.NewWeighted(bounds.All), lines: map[string]*line{}}
}

// Take takes seats of a key, and waits for them until the context ends; who wants more than there are takes all. It
// fails with ErrBusy when it was not given them. leave gives them back; it may be called again.
//
// A key's own seats are taken first: so at most Bounds.Each of one key wait for what is shared, and the next key's turn
// comes after those.
func (p *Places) Take(ctx context.Context, key string, seats int64) (leave func(), err error) {
	seats = min(seats, p.bounds.Each, p.bounds.All)
	l, err := p.join(key)
	if err != nil {
		return nil, err
	}
	defer p.waited(l)
	if l.seats.Acquire(ctx, seats) != nil {
		p.part(key, l)
		return nil, ErrBusy
	}
	if p.all.Acquire(ctx, seats) != nil {
		l.seats.Release(seats)
		p.part(key, l)
		return nil, ErrBusy
	}
	return sync.OnceFunc(func() {
		p.all.Release(seats)
		l.seats.Release(seats)
		p.part(key, l)
	}), nil
}

// join enters a key's line, unless too many wait in it.
func (p *Places) join(key string) (*line, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[key]
	if l == nil {
		l = &line{seats: semaphore.NewWeighted(p.bounds.Each)}
		p.lines[key] = l
	}
	if l.waiting >= p.bounds.Queue {
		return nil, ErrBusy
	}
	l.people++
	l.waiting++
	return l, nil
}

func (p *Places) waited(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.waiting--
}

// part leaves a key's line, which is forgotten with the last: keys are what clients ask for, and may be any number.
func (p *Places) part(key string, l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.people--; l.people == 0 {
		delete(p.lines, key)
	}
}
