package cache

import (
	"slices"
	"time"
)

// Bridge makes an upstream list at rv the lane's content, as Replace does, but in the same epoch: watchers go on, and
// are told what a comparison of the State with the list finds (docs/adr/0021-gaps-are-bridged.md). What is gone, or no
// longer selected, is deleted first, at the RV behind which the gap begins; then objects that have changed or are new
// come once, each at its own RV. An object whose UID is another is deleted and added. What there was inside the gap is
// not known: nothing is read there, and no watch starts there.
//
// It takes nothing of the list and fails with ErrSetBack, ErrOtherPast or ErrManyChanges where that cannot be told,
// with ErrNotReady before the first Replace, with ErrClosed after Close. The objects must be encoded as those of the
// State are, for their shape stays. A list must be expected (Expect), and nobody else may write meanwhile. The slice
// stays the caller's.
func (l *Lane) Bridge(rv RV, objects []*Object) error {
	s, err := l.settle()
	if err != nil {
		return err
	}
	from := max(s.rv, l.shown.Load().rv)
	found, err := s.compare(from, rv, objects) // beside those who vouch: it may take a second
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
	if err := l.bridge(l.state.Load(), found, found.events(from, min(from+1, rv), rv), gap{from, rv}); err != nil {
		return err
	}
	l.counters.filling.Store(0)
	l.counters.bridged.Add(1)
	l.verifyIfAsked()
	return nil
}

// settle brings the lane to what was vouched for above it, where events have come since that are cancelled out on the
// way there: they are, and the last of them was lost. It returns the State that readers see then, or one with more
// deletions at its RV.
func (l *Lane) settle() (*State, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s, shown := l.state.Load(), l.shown.Load()
	if s == nil {
		return nil, l.absence()
	}
	if !l.expecting {
		panic("BUG: cache: a gap is bridged by a list that is not expected")
	}
	if shown.rv <= s.rv || shown.seq == s.seq {
		return s, nil
	}
	found, err := s.compare(s.rv, shown.rv, slices.Collect(shown.Objects(Span{})))
	if err != nil {
		return nil, err
	}
	// There are only deletions, and whoever goes on from any of what was vouched for has to be told of them.
	err = l.bridge(s, found, found.events(s.rv, shown.rv, shown.rv), gap{s.rv, shown.rv})
	return l.state.Load(), err
}

// bridge writes what was found, in the order of advance: gaps first, so that nothing starts from an event in them; the
// events in history; then their State, all at once; then, by the dispatcher, the feeds.
func (l *Lane) bridge(s *State, found *comparison, events []difference, across gap) error {
	from, rv := across.after, across.upTo
	if int64(len(events)) > watchCacheFloor.most {
		return ErrManyChanges
	}
	final := s
	for _, e := range events {
		final = final.afterDifference(e)
	}
	final = final.at(rv)
	e, now := s.epoch, time.Now()
	known := append([]RV{s.whole()}, e.vouched.above(s.whole())...)
	gaps, begins := gapsBetween(append(known, rv)...), from
	switch {
	case found.exact(from, rv):
		begins = 0
	case len(gaps) == 0 && rv > from:
		gaps = []gap{across} // with nothing inside, and more than one event
	}
	e.history.addGaps(gaps)
	e.gaps.Add(1)
	e.history.trim(now)
	for _, d := range events { // none is dropped before the last is there
		e.history.put(change{rv: d.rv, before: d.before, now: d.now, tells: d.tells, state: final, gap: begins, at: now})
		if d.tells != toThoseItLeaves {
			l.countSaved(d.before, d.now)
		}
	}
	e.vouched = nil
	l.publish(final)
	e.written(final)
	e.feeds.wakeAll()
	return nil
}

// afterDifference returns the State that an event of a gap leads to, which nobody sees but that of the last.
func (s *State) afterDifference(d difference) *State {
	if d.tells != toThoseItLeaves {
		return s.after(d.rv, d.before, d.now)
	}
	same := *s
	same.seq++ // the change is to come
	return &same
}
