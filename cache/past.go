package cache

import "iter"

// Past contains the content and history of a lane. Another lane takes it over with Restore (content of Base), Apply
// (each of Events) and Show (at RV).
type Past struct {
	Base   *State // State before the oldest of Events
	Len    int    // number of Events
	Events iter.Seq[Change]
	RV     RV // RV of the lane; equal to that of the last event, or higher
}

// Past returns the lane's content at the RV of the last event or bookmark. It ignores higher vouched RVs, because
// events below them may be missing. It begins after the last replayed window (Replay), inside which the content is
// unknown. It also begins after events that Restoration.Apply cannot repeat: those that share an RV, or whose object
// has another RV.
func (l *Lane) Past() (Past, error) {
	written := l.state.Load()
	if written == nil {
		return Past{}, l.absence()
	}
	h, rv := written.epoch.history, written.whole()
	w := h.held.Load()
	if w.first > written.seq { // the events were dropped in the meantime
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

// behind advances a State, and the position of its next event, to the end of a lost window.
func (w *window) behind(lost lostWindow, base *State, first, end int64) (*State, int64) {
	for first < end && w.at(first).rv <= lost.upTo {
		base, first = w.at(first).state, first+1
	}
	if base.rv < lost.upTo {
		base = base.at(lost.upTo)
	}
	return base, first
}
