package cache

import "github.com/listfacade/listfacade/selectors"

// WatchOptions say what a watcher selects and where it starts.
type WatchOptions struct {
	// Predicate selects the objects. Watchers with equal predicates share a feed.
	Predicate *selectors.Predicate
	Start     Start
	// Exact ends the watcher with *ExpiredError at a replayed lost window. It is for a client that builds its own lane
	// from the events and assumes that they are complete up to their RV.
	Exact bool
}

// Start is where a watch begins. The zero Start is FromNow (semantics 4.1).
type Start struct {
	rv      RV
	after   bool
	initial *State
}

// AfterRV starts with the first event above rv. If the lane has not reached rv, the watcher drops events up to and
// including rv. If rv is below the window, Watch returns *ExpiredError.
func AfterRV(rv RV) Start { return Start{rv: rv, after: true} }

// InitialEvents starts with every selected object of a State as Added, in key order. Then comes InitialEventsEnd, then
// the events after that State.
func InitialEvents(s *State) Start { return Start{initial: s} }

// FromNow starts after the newest State that readers see.
func FromNow() Start { return Start{} }

// Watch opens a watcher, which the caller must close. It returns *ExpiredError when the start is below the window, in a
// lost window or in a past epoch (I6, I11, I12). It returns ErrNotReady or ErrClosed when the lane has no State.
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
		// A relist just ended the epoch: try again in the new one.
	}
}

// watch opens a watcher in s's epoch. It returns neither watcher nor error when the epoch has ended.
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

// start sets the initial events of w, and the position in history of its first event.
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
		w.skip = from.rv // events up to this RV may still come; together they change nothing
	}
	if lost, found := w.epoch.history.lastLostWindow(max(from.rv, start.rv)); found && w.exact {
		return &ExpiredError{Requested: max(from.rv, start.rv), Oldest: lost.upTo}
	}
	w.seq = from.seq
	if !w.epoch.history.holds(w.seq) {
		return w.expired(from.rv)
	}
	return nil
}
