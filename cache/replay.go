package cache

import (
	"slices"
	"time"
)

// Replay makes an upstream list at rv the lane's content, as Replace does, but in the same epoch: watchers go on, and
// are told what a comparison of the State with the list finds (docs/adr/0021-gaps-are-bridged.md). What is gone, or no
// longer selected, is deleted first, at the RV behind which the gap begins; then objects that have changed or are new
// come once, each at its own RV. An object whose UID is another is deleted and added. What there was inside the gap is
// not known: nothing is read there, and no watch starts there.
//
// It takes nothing of the list and fails with ErrSetBack, ErrOtherPast or ErrManyChanges where that cannot be told,
// with ErrNotReady before the first Replace, with ErrClosed after Close. The objects must be encoded as those of the
// State are, for their shape stays. A list must be expected (Expect), and nobody else may write meanwhile. The slice
// stays the caller's.
func (l *Lane) Replay(rv RV, objects []*Object) error {
	s, shown, err := l.settle()
	if err != nil {
		return err
	}
	from := max(s.rv, shown.rv)
	found, err := s.compare(from, rv, objects)
	if err != nil {
		return err
	}
	if err := l.cross(s, found, found.events(from, min(from+1, rv), rv), lostWindow{from, rv}); err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.counters.filling.Store(0)
	l.counters.replayed.Add(1)
	l.verifyIfAsked()
	return nil
}

// Known returns the RVs behind which what Replay takes the lane over lies, in order: the one that events have brought
// it to, although more deletions may be at it (Apply), and those above it that were vouched for.
func (l *Lane) Known() ([]RV, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil {
		return nil, l.absence()
	}
	return append([]RV{s.rv}, s.epoch.vouched.above(s.rv)...), nil
}

// settle brings the lane to what was vouched for above it, where events have come since that are cancelled out on the
// way there: they are, and the last of them was lost. It returns the State as written, which is what readers see then,
// or one with more deletions at its RV; and what they see.
func (l *Lane) settle() (s, shown *State, err error) {
	s, shown, err = l.replayable()
	if err != nil || shown.rv <= s.rv || shown.seq == s.seq {
		return s, shown, err
	}
	found, err := s.compare(s.rv, shown.rv, slices.Collect(shown.Objects(Span{})))
	if err != nil {
		return nil, nil, err
	}
	// There are only deletions, and whoever goes on from any of what was vouched for has to be told of them.
	if err := l.cross(s, found, found.events(s.rv, shown.rv, shown.rv), lostWindow{s.rv, shown.rv}); err != nil {
		return nil, nil, err
	}
	return l.replayable()
}

// bridgeable returns the State as written and what readers see. Both stay what they are, but for their indexes: nothing
// is vouched for while a list is expected.
func (l *Lane) replayable() (written, shown *State, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil {
		return nil, nil, l.absence()
	}
	if !l.expecting {
		panic("BUG: cache: a gap is bridged by a list that is not expected")
	}
	return s, l.shown.Load(), nil
}

// cross brings the lane over a gap, from s to what was found. The State at its end is made without the lock of the
// writers, for readers wait for some of these (Vouch), and it takes ten microseconds an event; what is left to do under
// the lock takes a tenth of one. Only indexes may come and go meanwhile: then it is made again, of the State that has
// them.
func (l *Lane) cross(s *State, found *comparison, events []difference, across lostWindow) error {
	if int64(len(events)) > watchCacheFloor.most {
		return ErrManyChanges
	}
	found.alone()
	for {
		final := s.afterLostWindow(events, across.upTo)
		now, err := l.land(s, final, found, events, across)
		if err != nil || now == s {
			return err
		}
		s = now
	}
}

// land writes the end of a gap, unless the State is not what that was made of any more. It returns the State that it
// found.
func (l *Lane) land(s, final *State, found *comparison, events []difference, across lostWindow) (*State, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	now := l.state.Load()
	switch {
	case now == nil:
		return nil, l.absence()
	case now.seq != s.seq || now.rv != s.rv || now.epoch != s.epoch:
		panic("BUG: cache: a lane was written to while a gap was bridged")
	case now == s:
		l.replay(s, final, found, events, across)
	}
	return now, nil
}

// bridge writes what was found, in the order of advance: gaps first, so that nothing starts from an event in them; the
// events in history; then their State, all at once; then, by the dispatcher, the feeds.
func (l *Lane) replay(s, final *State, found *comparison, events []difference, across lostWindow) {
	from, rv := across.after, across.upTo
	e, now := s.epoch, time.Now()
	known := append([]RV{s.whole()}, e.vouched.above(s.whole())...)
	lost, begins := lostWindowsBetween(append(known, rv)...), from
	switch {
	case found.exact(from, rv):
		begins = 0
	case len(lost) == 0 && rv > from:
		lost = []lostWindow{across} // with nothing inside, and more than one event
	}
	e.history.addLostWindows(lost)
	e.lostWindows.Add(1)
	e.history.trim(now)
	for _, d := range events { // none is dropped before the last is there
		e.history.put(change{rv: d.rv, before: d.before, now: d.now, tells: d.tells, state: final, lostAfter: begins, at: now})
		if d.tells != toThoseItLeaves {
			l.countSaved(d.before, d.now)
		}
	}
	e.vouched = nil
	l.publish(final)
	e.written(final)
	e.feeds.wakeAll()
}

// afterLostWindow returns the State at the end of a gap. No State in between is seen by anybody.
func (s *State) afterLostWindow(events []difference, rv RV) *State {
	final := s
	for _, e := range events {
		final = final.afterDifference(e)
	}
	return final.at(rv)
}

// afterDifference returns the State that an event of a gap leads to.
func (s *State) afterDifference(d difference) *State {
	if d.tells != toThoseItLeaves {
		return s.after(d.rv, d.before, d.now)
	}
	same := *s
	same.seq++ // the change is to come
	return &same
}
