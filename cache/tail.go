package cache

import (
	"errors"
	"time"
)

// Tail reads a lane's events in order, once. It is a position in history and keeps no object in memory. A reader that
// is too slow finds its position lost, and never delays the lane. A Tail is used by one goroutine.
type Tail struct {
	lane  *Lane
	epoch *epoch
	seq   int64 // position of the next event
	rv    RV    // RV up to which every event was read
}

// Happened is an event that a Tail has read. Restoration.Apply repeats it.
type Happened struct {
	Change
	At time.Time
}

// Tail returns a Tail that starts at the RV of the last event or bookmark, and the State at that RV.
func (l *Lane) Tail() (*Tail, *State, error) {
	s := l.state.Load()
	if s == nil {
		return nil, nil, l.absence()
	}
	t := &Tail{lane: l, epoch: s.epoch, seq: s.seq, rv: s.whole()}
	return t, s.at(t.rv), nil
}

// RV returns the RV up to which every event was read. Vouched RVs do not count, because events below them may be
// missing.
func (t *Tail) RV() RV { return t.rv }

// State returns the State after the last event that was read, with the RV of t. It returns ErrLost, or ErrClosed after
// Close.
func (t *Tail) State() (*State, error) {
	written, err := t.written()
	if err != nil {
		return nil, err
	}
	if written.seq == t.seq {
		return written.at(t.rv), nil
	}
	w := t.epoch.history.held.Load()
	switch {
	case t.seq < w.first:
		return nil, ErrLost
	case t.seq == w.first:
		return w.base.at(t.rv), nil
	}
	return w.at(t.seq - 1).state.at(t.rv), nil
}

// Ready returns how many events are ready for Next. It returns 0 if history has dropped some.
func (t *Tail) Ready() int {
	written, err := t.written()
	if err != nil || !t.epoch.history.holds(t.seq) {
		return 0
	}
	return int(max(0, t.ready(written)-t.seq))
}

// Waiting returns the time of the first event that was not read, whether it is ready or not. It returns the zero time
// if every event was read.
func (t *Tail) Waiting() time.Time {
	written, err := t.written()
	if err != nil {
		return time.Time{}
	}
	w := t.epoch.history.held.Load()
	seq := max(t.seq, w.first)
	if seq >= written.seq {
		return time.Time{}
	}
	return time.UnixMilli(w.at(seq).at)
}

func (t *Tail) ready(written *State) int64 {
	if t.lane.dictionary.Load() == nil {
		return written.seq
	}
	return min(written.seq, t.epoch.packed.Load())
}

// Next appends the next events that are ready, at most the given number. If the lane packs objects, an event is ready
// when its objects were packed. Next returns ErrLost when events are missing: history has dropped them, a new epoch has
// begun, a lost window was replayed, or the next event cannot be repeated from its object alone. It returns ErrClosed
// after Close.
func (t *Tail) Next(events []Happened, most int) ([]Happened, error) {
	written, err := t.written()
	if err != nil {
		return events, err
	}
	return t.read(events, most, written, t.ready(written))
}

// Rest is like Next, but treats all events as ready. It also works after Close.
func (t *Tail) Rest(events []Happened, most int) ([]Happened, error) {
	written, err := t.written()
	if errors.Is(err, ErrClosed) {
		written, err = t.epoch.newest.Load(), nil
	}
	if err != nil {
		return events, err
	}
	return t.read(events, most, written, written.seq)
}

func (t *Tail) written() (*State, error) {
	s := t.lane.state.Load()
	switch {
	case s == nil:
		return nil, t.lane.absence()
	case s.epoch != t.epoch:
		return nil, ErrLost
	}
	return s, nil
}

// read appends the next events whose position is below ready, at most the given number. After the last event of the
// written State, the RV becomes the RV at which this State is complete, unless a lost window follows.
func (t *Tail) read(events []Happened, most int, written *State, ready int64) ([]Happened, error) {
	w := t.epoch.history.held.Load()
	if t.seq < w.first {
		return events, ErrLost
	}
	begins := written.rv + 1 // RV after which events were lost; above written.rv if none were lost
	if lost := lostWindowsAbove(w.lostWindows, t.rv); len(lost) > 0 {
		begins = lost[0].after
	}
	before := len(events)
	for ; t.seq < ready && len(events)-before < most; t.seq++ {
		e := w.at(t.seq)
		if e.rv > begins || !e.repeatable(t.rv) {
			return events, lostUnless(len(events) > before)
		}
		events = append(events, t.happened(e))
		t.rv = e.rv
	}
	switch {
	case t.seq < written.seq:
	case begins <= written.rv:
		return events, lostUnless(len(events) > before)
	default:
		t.rv = max(t.rv, written.whole())
	}
	return events, nil
}

// lostUnless returns ErrLost, unless events were read. The next call of Next or Rest then returns ErrLost.
func lostUnless(read bool) error {
	if read {
		return nil
	}
	return ErrLost
}

// repeatable reports whether Restoration.Apply can repeat the event if the previous event was at the given RV. Apply
// cannot repeat events in a lost window, events that share an RV, and events with another RV than their object.
func (e *entry) repeatable(after RV) bool {
	return e.rv > after && e.lostAfter == 0 && (e.now == nil || e.now.RV == e.rv)
}

func (t *Tail) happened(e *entry) Happened {
	h := Happened{Change: Change{Kind: Upsert, Object: e.now}, At: time.UnixMilli(e.at)}
	if e.now == nil {
		h.Change = Change{Kind: Delete, Object: t.epoch.history.deleted(t.seq, e)}
	}
	return h
}
