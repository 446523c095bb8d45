package cache

// Vouch advances the RV that readers see to rv without changing objects, and returns the State at rv. The State s comes
// from Latest. The caller has confirmed by other means than events that the upstream's content at rv equals s. Readers
// see the vouched State until events reach rv.
//
// Events between the RV of s and rv may have cancelled each other out. The writers still apply them, and watchers
// receive them, except watchers that start from the State at rv (I5).
//
// If s is already complete at rv, Vouch returns s. If readers already see rv or more, Vouch changes nothing for them.
// Vouch returns nil in these cases:
//
//   - the State is of a past epoch, or a list is expected (Expect): readers might later see a lower RV (I1)
//   - rv is inside a lost window that was replayed in the meantime
//   - rv is below the RV of a vouched State that is ahead of the events and has other content: a watch from rv
//     might miss the events that led to that content
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
		vouched.indexes = written.indexes // an index may have been added since Latest
		s.epoch.vouched.add(rv, written.whole())
	}
	if shown.rv < rv {
		l.show(vouched)
	}
	return vouched
}

// Expect announces that the caller is about to request a list for Replace or Replay. The list may be older than a State
// confirmed later, so Vouch returns nil until the caller calls the returned function.
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
