package cache

// The dispatcher is a goroutine of an epoch that runs while feeds lack events that history has. The writer only starts
// the dispatcher, so the writer's work does not depend on the number of feeds and their selectors.

// written makes s the State to which the dispatcher brings the feeds. It starts the dispatcher, unless it is running.
// The caller holds Lane.writing.
func (e *epoch) written(s *State) {
	e.newest.Store(s)
	if e.dispatching.CompareAndSwap(false, true) {
		e.running.Go(e.dispatch)
	}
}

// dispatch brings the feeds up to the newest State and then raises the RV up to which they are complete (I4). It
// returns when there is no newer State, or when the epoch ends.
func (e *epoch) dispatch() {
	for e.end() == nil {
		s := e.newest.Load()
		if e.follow(s) || e.newest.Load() != s {
			continue
		}
		e.dispatching.Store(false)
		// Either the writer finds that no dispatcher is running and starts one, or this loop sees the new State.
		if e.newest.Load() == s || !e.dispatching.CompareAndSwap(false, true) {
			return
		}
	}
}

// follow brings the feeds closer to s and reports whether some still lack events. Feeds with and without an anchor take
// turns, so neither group waits for all events of the other.
func (e *epoch) follow(s *State) (more bool) {
	f := &e.feeds
	for _, w := range []*follower{&f.anchored, &f.unanchored} {
		if f.follow(w, e.history, s.seq) {
			more = true
		} else {
			w.complete.Store(uint64(s.whole()))
		}
	}
	return more
}
