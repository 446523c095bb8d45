package cache

import (
	"slices"
	"time"
)

// Replay makes an upstream list at rv the lane's content, as Replace does, but in the same epoch. Watchers continue and
// receive the differences between the State and the list (ADR 21). Deletions come first, at the RV before the lost
// window. Objects that left a selector are among these deletions. Then each changed or new object comes once, at
// its own RV. An object with another UID is deleted and added. Inside the lost window no read is served and no watch
// starts.
//
// It returns ErrSetBack, ErrOtherPast or ErrManyChanges when the list cannot be replayed. On an error the lane does not
// take the content of the list. The objects must have the encoding of the State's objects, because the State keeps its
// shape. The caller must have called Expect before it requested the list, and no other goroutine may write in the
// meantime. The caller keeps the slice.
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
	if err := l.replayWindow(s, found, found.events(from, min(from+1, rv), rv), lostWindow{from, rv}); err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.counters.filling.Store(0)
	l.counters.replayed.Add(1)
	l.verifyIfEnabled()
	return nil
}

// Known returns, in order, the RVs at which a lost window may begin. These are the RV of the last event or bookmark,
// and the vouched RVs above it. At the first of them, deletions may still be missing (Apply).
func (l *Lane) Known() ([]RV, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil {
		return nil, l.absence()
	}
	return append([]RV{s.rv}, s.epoch.vouched.above(s.rv)...), nil
}

// settle makes the content of the written State equal to the content of the visible State. The two differ if the
// visible State was vouched for and the lane then applied events below its RV. Later events, which the lane did not
// receive, must have cancelled these events. settle returns the written State and the visible State. The written State
// may still have more deletions at its own RV.
func (l *Lane) settle() (s, shown *State, err error) {
	s, shown, err = l.replayable()
	if err != nil || shown.rv <= s.rv || shown.seq == s.seq {
		return s, shown, err
	}
	found, err := s.compare(s.rv, shown.rv, slices.Collect(shown.Objects(Span{})))
	if err != nil {
		return nil, nil, err
	}
	// All objects of the visible State have RVs up to s.rv, so the differences can only be deletions. A client that
	// read or watched at any vouched RV must receive them.
	if err := l.replayWindow(s, found, found.events(s.rv, shown.rv, shown.rv), lostWindow{s.rv, shown.rv}); err != nil {
		return nil, nil, err
	}
	return l.replayable()
}

// replayable returns the written State and the visible State. While a list is expected, these States can be replaced
// only by copies with other indexes.
func (l *Lane) replayable() (written, shown *State, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil {
		return nil, nil, l.absence()
	}
	if !l.expecting {
		panic("BUG: cache: replay of a list that is not expected")
	}
	return s, l.shown.Load(), nil
}

// replayWindow applies the differences to the written State s. It builds the final State without the writers' lock,
// because readers may wait for that lock (Vouch). Building takes 10 microseconds per event, and the work under the lock
// 0.1 microseconds. If indexes change in the meantime, replayWindow builds the State again.
func (l *Lane) replayWindow(s *State, found *comparison, events []difference, lost lostWindow) error {
	if int64(len(events)) > watchCacheFloor.most {
		return ErrManyChanges
	}
	found.alone()
	for {
		final := s.afterLostWindow(events, lost.upTo)
		now, err := l.finishReplay(s, final, found, events, lost)
		if err != nil || now == s {
			return err
		}
		s = now
	}
}

// finishReplay publishes the final State if s is still the newest written State. It returns the newest written State
// that it found.
func (l *Lane) finishReplay(s, final *State, found *comparison, events []difference, lost lostWindow) (*State, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	now := l.state.Load()
	switch {
	case now == nil:
		return nil, l.absence()
	case now.seq != s.seq || now.rv != s.rv || now.epoch != s.epoch:
		panic("BUG: cache: concurrent write to a lane during a replay")
	case now == s:
		l.writeReplay(s, final, found, events, lost)
	}
	return now, nil
}

// writeReplay writes the lost windows first, so no watch starts from an event inside them. It appends all events to
// history before it publishes the final State. Last, the dispatcher updates the feeds.
func (l *Lane) writeReplay(s, final *State, found *comparison, events []difference, lost lostWindow) {
	from, rv := lost.after, lost.upTo
	e, now := s.epoch, time.Now()
	known := append([]RV{s.whole()}, e.vouched.above(s.whole())...)
	windows, begins := lostWindowsBetween(append(known, rv)...), from
	switch {
	case found.exact(from, rv):
		begins = 0
	case len(windows) == 0 && rv > from:
		windows = []lostWindow{lost} // no RV is between the window's ends, but the window has several events
	}
	e.history.addLostWindows(windows)
	e.lostWindows.Add(1)
	e.history.trim(now)
	for _, d := range events { // no event may be dropped before the last event is recorded
		e.history.put(change{rv: d.rv, before: d.before, now: d.now, audience: d.audience, state: final, lostAfter: begins,
			at: now})
		if d.audience != toFormerSelectors {
			l.countSaved(d.before, d.now)
		}
	}
	e.vouched = nil
	l.publish(final)
	e.written(final)
	e.feeds.wakeAll()
}

func (s *State) afterLostWindow(events []difference, rv RV) *State {
	final := s
	for _, e := range events {
		final = final.afterDifference(e)
	}
	return final.at(rv)
}

func (s *State) afterDifference(d difference) *State {
	if d.audience != toFormerSelectors {
		return s.after(d.rv, d.before, d.now)
	}
	same := *s
	same.seq++ // the same change follows again as toOtherSelectors
	return &same
}
