package cache

// What follows the writer is the dispatcher: a goroutine for an epoch while feeds lack events that history has. It
// alone asks predicates about events, so that however many feeds there are, and whatever they select by, the writer
// does no more than wake it.

// dispatchAtOnce is how many events are offered to the feeds before those that grew wake their watchers and whoever
// opens or closes one has a turn.
const dispatchAtOnce = 16

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
		if e.feeds.follow(e.history, s.seq) {
			continue
		}
		e.complete.Store(uint64(s.whole()))
		if e.newest.Load() != s {
			continue
		}
		e.dispatching.Store(false)
		// Either the writer sees that nobody is dispatching, or what it wrote meanwhile is seen here.
		if e.newest.Load() == s || !e.dispatching.CompareAndSwap(false, true) {
			return
		}
	}
}

// follow offers some of the events that feeds lack up to a position, and reports whether there are more.
func (f *feeds) follow(h *history, upTo int64) (more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.byPredicate) == 0 {
		f.dispatched = upTo
	}
	for range dispatchAtOnce {
		if f.dispatched >= upTo {
			break
		}
		if e := h.at(f.dispatched); e != nil {
			f.offer(f.dispatched, e)
			f.dispatched++
		} else {
			f.lose(h.held.Load().first)
		}
	}
	for i, d := range f.grown {
		d.signalled = false
		d.grown.fire()
		f.grown[i] = nil
	}
	f.grown = f.grown[:0]
	return f.dispatched < upTo
}

// lose goes on at the first position that history still holds. The feeds get the one before, so that who has not read
// beyond it finds its place lost (I6).
func (f *feeds) lose(first int64) {
	for _, d := range f.byPredicate {
		d.append(occurrence(first-1) << 2)
		f.grew(d)
	}
	f.dispatched = first
}

// grew has the watchers of a feed woken, once for all that it got together.
func (f *feeds) grew(d *feed) {
	if !d.signalled {
		d.signalled = true
		f.grown = append(f.grown, d)
	}
}
