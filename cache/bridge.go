package cache

import "time"

// Bridge makes an upstream list at rv the lane's content, as Replace does, but in the same epoch: watchers go on, and
// are told what a comparison of the State with the list finds (docs/adr/0021-gaps-are-bridged.md). Objects that have
// changed or are new come once, each at its own RV; an object whose UID is another is deleted and added; what is gone
// is deleted, at RVs of the gap that no object has, the latest that there are. What there was inside the gap is not
// known: nothing is read there, and no watch starts there.
//
// It takes nothing and fails with ErrSetBack, ErrOtherPast, ErrNoVersions or ErrManyChanges where that cannot be told,
// with ErrNotReady before the first Replace, with ErrClosed after Close. The objects must be encoded as those of the
// State are, for their shape stays. Nobody else may write meanwhile; they may vouch. The slice stays the caller's.
func (l *Lane) Bridge(rv RV, objects []*Object) error {
	s := l.state.Load()
	if s == nil {
		return l.absence()
	}
	found, err := s.compare(s.rv, rv, objects) // beside those who vouch: it may take a second
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.isClosed() {
		return ErrClosed
	}
	if now := l.state.Load(); now.seq != s.seq || now.rv != s.rv {
		panic("BUG: cache: a lane was written to while a gap was bridged")
	}
	return l.bridge(l.state.Load(), rv, found)
}

// bridge writes what was found, in the order of advance: gaps first, so that nothing starts from an event in them; the
// events in history; then their State, all at once; then, by the dispatcher, the feeds.
func (l *Lane) bridge(s *State, rv RV, found *comparison) error {
	from := max(s.rv, l.shown.Load().rv)
	if rv < from {
		return ErrSetBack
	}
	if err := found.verify(from, rv); err != nil {
		return err
	}
	events, err := found.dated(from, rv)
	if err != nil {
		return err
	}
	if int64(len(events)) > watchCacheFloor.most {
		return ErrManyChanges
	}
	final := s
	for _, e := range events {
		final = final.after(e.rv, e.before, e.now)
	}
	final = final.at(rv)
	e, now := s.epoch, time.Now()
	known := append([]RV{s.whole()}, e.vouched.above(s.whole())...)
	e.history.addGaps(gapsBetween(append(known, rv)...))
	e.gaps.Add(1)
	e.history.trim(now)
	for _, d := range events { // none is dropped before the last is there
		e.history.put(change{rv: d.rv, before: d.before, now: d.now, state: final, bridged: true, at: now})
		l.countSaved(d.before, d.now)
	}
	l.publish(final)
	e.written(final)
	e.feeds.wakeAll()
	l.counters.filling.Store(0)
	l.counters.bridged.Add(1)
	l.verifyIfAsked()
	return nil
}
