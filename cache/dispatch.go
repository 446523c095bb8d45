package cache

// What follows the writer is the dispatcher: a goroutine for an epoch while feeds lack events that history has. It
// alone asks predicates about events, so that however many feeds there are, and whatever they select by, the writer
// does no more than wake it.

// written lets feeds have everything up to s. Only the writer calls it.
func (e *epoch) written(s *State) {
	e.newest.Store(s)
	if e.dispatching.CompareAndSwap(false, true) {
		e.running.Go(e.dispatch)
	}
}

// dispatch brings the feeds up to the newest State and then says so (I4), until there is no newer one or the epoch is
// over.
func (e *epoch) dispatch() {
	for e.end() == nil {
		s := e.newest.Load()
		if e.follow(s) || e.newest.Load() != s {
			continue
		}
		e.dispatching.Store(false)
		// Either the writer sees that nobody is dispatching, or what it wrote meanwhile is seen here.
		if e.newest.Load() == s || !e.dispatching.CompareAndSwap(false, true) {
			return
		}
	}
}

// follow brings the feeds nearer to s, those with an anchor and those without in turn, so that neither wait for all of
// what the others lack, and reports whether some lack more.
func (e *epoch) follow(s *State) (more bool) {
	f := &e.feeds
	for _, w := range []*follower{&f.found, &f.rest} {
		if f.follow(w, e.history, s.seq) {
			more = true
		} else {
			w.complete.Store(uint64(s.whole()))
		}
	}
	return more
}
