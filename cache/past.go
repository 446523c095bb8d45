package cache

import "iter"

// Past is what a lane holds, as another lane can be told it: Restore with the content of Base, Apply of each of the
// Events, and Show at RV.
type Past struct {
	Base   *State // before the oldest of Events
	Len    int    // of Events
	Events iter.Seq[Change]
	RV     RV // of the lane: of the last event, or above it
}

// Past returns what the lane holds at the moment, as events have brought it: what was vouched for above that is not
// told, for events may be missing below. It begins behind the last gap (Replay), in which nothing is known, and behind
// events that no upstream sends, of which several are at one RV.
func (l *Lane) Past() (Past, error) {
	written := l.state.Load()
	if written == nil {
		return Past{}, l.absence()
	}
	h, rv := written.epoch.history, written.whole()
	w := h.held.Load()
	if w.first > written.seq { // events came and went since
		return Past{Base: written, Events: func(func(Change) bool) {}, RV: rv}, nil
	}
	base, first := w.base, w.first
	for seq, last := w.first, w.base.rv; seq < written.seq; seq++ {
		e := w.at(seq)
		if e.rv <= last || e.lostAfter > 0 || e.now != nil && e.now.RV != e.rv {
			base, first = e.state, seq+1
		}
		last = e.rv
	}
	if len(w.lostWindows) > 0 {
		base, first = w.behind(w.lostWindows[len(w.lostWindows)-1], base, first, written.seq)
	}
	events := func(yield func(Change) bool) {
		for seq := first; seq < written.seq; seq++ {
			e := w.at(seq)
			c := Change{Kind: Upsert, Object: e.now}
			if e.now == nil {
				c = Change{Kind: Delete, Object: h.deleted(seq, e)}
			}
			if !yield(c) {
				return
			}
		}
	}
	return Past{Base: base, Len: int(written.seq - first), Events: events, RV: rv}, nil
}

// behind moves a State, and the event that follows it, to where a gap is over.
func (w *window) behind(g lostWindow, base *State, first, end int64) (*State, int64) {
	for first < end && w.at(first).rv <= g.upTo {
		base, first = w.at(first).state, first+1
	}
	if base.rv < g.upTo {
		base = base.at(g.upTo)
	}
	return base, first
}
