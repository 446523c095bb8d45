package cache

import "iter"

// Past is what a lane holds, as another lane can be told it: Replace with the content of Base, Apply of each of the
// Events, and Progress to RV.
type Past struct {
	Base   *State // before the oldest of Events
	Len    int    // of Events
	Events iter.Seq[Change]
	RV     RV // of the lane: of the last event, or above it
}

// Past returns what the lane holds at the moment. Where history has events that no upstream sends, of which several are
// at one RV, it begins behind them.
func (l *Lane) Past() (Past, error) {
	shown, err := l.State()
	if err != nil {
		return Past{}, err
	}
	h := shown.epoch.history
	w := h.held.Load()
	if w.first > shown.seq { // events came and went since
		return Past{Base: shown, Events: func(func(Change) bool) {}, RV: shown.rv}, nil
	}
	base, first := w.base, w.first
	for seq, last := w.first, w.base.rv; seq < shown.seq; seq++ {
		e := w.at(seq)
		if e.rv <= last || e.now != nil && e.now.RV != e.rv {
			base, first = e.state, seq+1
		}
		last = e.rv
	}
	events := func(yield func(Change) bool) {
		for seq := first; seq < shown.seq; seq++ {
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
	return Past{Base: base, Len: int(shown.seq - first), Events: events, RV: shown.rv}, nil
}
