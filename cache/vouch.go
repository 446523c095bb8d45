package cache

// Vouch shows readers a State (of Latest) under an rv that is not below its own, and returns it so. The caller knows,
// other than from events, that the upstream's content at rv is the same. Readers see it until the writers have brought
// the lane to rv.
//
// Events between the two RVs may have cancelled each other out. They are still to be applied, and watchers see them,
// except those that start from the State of rv (I5).
//
// It changes nothing when readers see rv, or more, already. It returns nil when the State is of a past epoch or a list
// is expected (Expect): what readers then saw might be taken back (I1). So it does for an rv inside a gap that was
// bridged meanwhile, and for one below another State that was vouched for and that events have not come to: who watched
// from there might miss some of what led to it.
func (l *Lane) Vouch(s *State, rv RV) *State {
	if rv <= s.whole() {
		return s
	}
	vouched := s.at(rv)
	vouched.vouched = true
	l.writing.Lock()
	defer l.writing.Unlock()
	shown := l.shown.Load()
	if l.expecting || shown == nil || shown.epoch != s.epoch {
		return nil
	}
	if _, in := s.epoch.history.lostWindowAt(rv); in {
		return nil
	}
	written := l.state.Load()
	if rv < shown.rv && shown.rv > written.rv && shown.seq != s.seq {
		return nil
	}
	if written.seq == s.seq {
		vouched.indexes = written.indexes // which may have got one since
		s.epoch.vouched.add(rv, written.whole())
	}
	if shown.rv < rv {
		l.show(vouched)
	}
	return vouched
}

// Expect says that the upstream is about to be asked for a list, for Replace. Nothing is vouched for until the function
// that it returns is called: the list may be of an earlier time.
func (l *Lane) Expect() (over func()) {
	l.expect(true)
	return func() { l.expect(false) }
}

func (l *Lane) expect(is bool) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.expecting = is
	l.counters.filling.Store(0)
}
