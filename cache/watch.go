package cache

import "github.com/listfacade/listfacade/selectors"

// WatchOptions say what a watcher sees and from where on.
type WatchOptions struct {
	// Predicate selects the objects. Watchers with equal predicates share a feed.
	Predicate *selectors.Predicate
	Start     Start
	// Exact ends the watcher with *ExpiredError at a gap that is bridged. It is for who makes a lane of the events, and
	// takes each for all that happened up to its RV.
	Exact bool
}

// Start is where a watch begins (semantics 4.1): one of AfterRV, InitialEvents, FromNow. The zero Start is FromNow.
type Start struct {
	rv      RV
	after   bool
	initial *State
}

// AfterRV starts behind rv: with the first event above it. An rv that the lane has not reached is fine, what comes up
// to it is dropped, as is what is still to come of rv itself; one below the window is expired.
func AfterRV(rv RV) Start { return Start{rv: rv, after: true} }

// InitialEvents starts with every selected object of a State as Added, in key order, then InitialEventsEnd, and goes
// on behind that State.
func InitialEvents(s *State) Start { return Start{initial: s} }

// FromNow starts behind the newest State that readers see.
func FromNow() Start { return Start{} }

// Watch opens a watcher; the caller closes it. It fails with *ExpiredError when the start lies below the window or in
// a past epoch (I6, I11), with ErrNotReady or ErrClosed when there is nothing to watch.
func (l *Lane) Watch(o WatchOptions) (*Watcher, error) {
	for {
		s, err := l.State()
		if err != nil {
			return nil, err
		}
		if first := o.Start.initial; first != nil && first.epoch != s.epoch {
			return nil, &ExpiredError{Requested: first.rv, Oldest: s.epoch.history.oldest()}
		}
		w, err := s.watch(o)
		if w != nil || s.epoch.end() == nil {
			return w, err
		}
		// A relist ended the epoch just now: its successor decides.
	}
}

// watch opens a watcher in s's epoch, or returns neither watcher nor error when the epoch is over.
func (s *State) watch(o WatchOptions) (*Watcher, error) {
	w := &Watcher{epoch: s.epoch, predicate: o.Predicate, exact: o.Exact, lostWindows: s.epoch.lostWindows.Load()}
	if err := w.start(s, o.Start); err != nil {
		return nil, err
	}
	j, ok := s.epoch.join(o.Predicate)
	if !ok {
		return nil, nil
	}
	w.feed, w.cursor, w.joined = j.feed, j.end, j.seq
	w.passed.Store(w.cursor.passed())
	w.replay.Store(max(w.joined-w.seq, 0))
	w.notified.Store(uint64(max(w.position(), w.skip)))
	s.epoch.counters.watchers.Add(1)
	return w, nil
}

// start finds the position in history from which w has to see events.
func (w *Watcher) start(now *State, start Start) error {
	from := now
	switch {
	case start.after:
		before, err := w.epoch.history.before(start.rv)
		if err != nil {
			return err
		}
		from = before
		w.skip, w.ahead = start.rv, true
	case start.initial != nil:
		from = start.initial
		w.progress = from.rv
		t, in, by := from.narrow(w.predicate, "")
		w.initial = t.cursor(in)
		if by != nil {
			w.epoch.indexer.used(from, by, from.Count(spanOf(w.predicate, ""))-t.countIn(in))
		}
		w.snapshot = from
	default:
		w.progress = from.rv
	}
	if from.vouched {
		w.skip = from.rv // history may still get events up to it, which cancel each other out
	}
	if g, found := w.epoch.history.lastLostWindow(max(from.rv, start.rv)); found && w.exact {
		return &ExpiredError{Requested: max(from.rv, start.rv), Oldest: g.upTo}
	}
	w.seq = from.seq
	if !w.epoch.history.holds(w.seq) {
		return w.expired(from.rv)
	}
	return nil
}
