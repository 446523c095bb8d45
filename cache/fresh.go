package cache

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// State returns the newest State: what a read with resourceVersion "0" is answered from.
func (l *Lane) State() (*State, error) {
	v := l.vouched.Load() // first: it is dropped after a State above it was published (I1)
	s := l.state.Load()
	switch {
	case s == nil:
		return nil, l.absence()
	case v != nil && v.epoch == s.epoch && v.rv > s.rv:
		return v, nil
	}
	return s, nil
}

// Position returns the RV up to which the writers have brought the lane: where the upstream has to be watched from. It
// is below that of State while what was vouched for is not yet written (Vouch).
func (l *Lane) Position() (RV, error) {
	if s := l.state.Load(); s != nil {
		return s.rv, nil
	}
	return 0, l.absence()
}

// Vouch says that a State's content is the upstream's at rv, too, which somebody found out other than by its events:
// readers see it as the State of rv, until the writers have come that far. It returns that State. Between the two there
// may have been events that cancel each other out: they are still to be written, and watchers see them, except those
// that start from the State of rv (I5). Below what readers see already, it changes nothing. It returns nil when the
// State is of a past epoch, or Expect tells of a new one: what readers then saw might be taken back (I1).
func (l *Lane) Vouch(s *State, rv RV) *State {
	if rv <= s.rv {
		return s
	}
	same := *s
	vouched := &same
	vouched.rv, vouched.vouched = rv, true
	l.writing.Lock()
	defer l.writing.Unlock()
	written := l.state.Load()
	switch {
	case l.expecting || written == nil || written.epoch != s.epoch:
		return nil
	case written.rv >= rv:
		return vouched
	}
	if last := l.vouched.Load(); last == nil || last.epoch != s.epoch || last.rv < rv {
		l.vouched.Store(vouched)
		l.fresh.reached(rv)
	}
	return vouched
}

// Expect says that a list is about to be asked for, for Replace: until the function that it returns is called, nothing
// is vouched for, because the list may be of a time before that.
func (l *Lane) Expect() (over func()) {
	l.expect(true)
	return func() { l.expect(false) }
}

func (l *Lane) expect(is bool) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.expecting = is
}

// WaitFor returns a State at or above rv, waiting up to wait for one: a NotOlderThan read. It fails with
// *TooLargeError when the lane does not get there in time (semantics 2.2), with ctx's error when ctx ends first.
func (l *Lane) WaitFor(ctx context.Context, rv RV, wait time.Duration) (*State, error) {
	if s, err := l.reached(rv); s != nil || wait <= 0 || !isTooLarge(err) {
		return s, err
	}
	a := l.fresh.await(rv)
	defer l.fresh.leave(a)
	if s, err := l.reached(rv); s != nil || !isTooLarge(err) { // published between the first look and await
		return s, err
	}
	patience := time.NewTimer(wait)
	defer patience.Stop()
	select {
	case <-a.reached:
	case <-patience.C:
	case <-l.closed:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return l.reached(rv)
}

// At returns the State at exactly rv, under that RV: an Exact read. It waits like WaitFor for an rv ahead of the lane,
// and fails with *ExpiredError for one below the window (I6).
func (l *Lane) At(ctx context.Context, rv RV, wait time.Duration) (*State, error) {
	s, err := l.WaitFor(ctx, rv, wait)
	if err != nil || s.rv == rv {
		return s, err
	}
	written := l.state.Load()
	switch {
	case written == nil || written.epoch != s.epoch:
		return nil, &ExpiredError{Requested: rv, Oldest: s.rv}
	case written.rv < rv: // what was vouched for is above it, and says nothing about what lies between
		return nil, &TooLargeError{Requested: rv, Current: written.rv}
	}
	past, err := written.epoch.history.before(rv)
	if err != nil {
		return nil, err
	}
	return past.at(rv), nil
}

func (l *Lane) reached(rv RV) (*State, error) {
	s, err := l.State()
	if err == nil && s.rv < rv {
		return nil, &TooLargeError{Requested: rv, Current: s.rv}
	}
	return s, err
}

func isTooLarge(err error) bool {
	var tooLarge *TooLargeError
	return errors.As(err, &tooLarge)
}

// freshness wakes readers that wait for an RV. All that wait for the same RV share one arrival, so the writer closes
// one channel for a thousand of them, and does nothing but one comparison while nobody's RV is reached.
type freshness struct {
	lowest   atomic.Uint64 // the smallest RV awaited, nobody when none is
	mu       sync.Mutex
	arrivals map[RV]*arrival // guarded by mu
}

// arrival is one RV that somebody waits for.
type arrival struct {
	rv      RV
	reached chan struct{}
	waiting int // guarded by freshness.mu
}

const nobody = math.MaxUint64

func (f *freshness) init() {
	f.arrivals = make(map[RV]*arrival)
	f.lowest.Store(nobody)
}

// await joins those who wait for rv. The caller looks at the lane once more afterwards: either it sees the State, or
// the writer sees it waiting.
func (f *freshness) await(rv RV) *arrival {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.arrivals[rv]
	if a == nil {
		a = &arrival{rv: rv, reached: make(chan struct{})}
		f.arrivals[rv] = a
		f.lowest.Store(min(f.lowest.Load(), uint64(rv)))
	}
	a.waiting++
	return a
}

func (f *freshness) leave(a *arrival) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a.waiting--
	if a.waiting == 0 && f.arrivals[a.rv] == a {
		delete(f.arrivals, a.rv)
		f.settle()
	}
}

// reached wakes everybody whose RV is at or below rv.
func (f *freshness) reached(rv RV) {
	if uint64(rv) < f.lowest.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for awaited, a := range f.arrivals {
		if awaited <= rv {
			close(a.reached)
			delete(f.arrivals, awaited)
		}
	}
	f.settle()
}

// settle recomputes lowest, with mu held.
func (f *freshness) settle() {
	lowest := uint64(nobody)
	for awaited := range f.arrivals {
		lowest = min(lowest, uint64(awaited))
	}
	f.lowest.Store(lowest)
}
