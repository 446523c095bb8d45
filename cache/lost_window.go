package cache

import (
	"slices"
	"sort"
)

// lostWindow is a range of an epoch's RVs for which the lane received no events: after < RV <= upTo. The States at both
// ends are known, and so are the differences between them (comparison). The order and number of the changes between the
// two States are unknown, so no read is served and no watch starts inside (I12).
type lostWindow struct{ after, upTo RV }

// lostWindowAt returns the lost window that contains an RV. upTo is not inside, because the State at upTo is known.
func lostWindowAt(lost []lostWindow, rv RV) (found lostWindow, ok bool) {
	i := sort.Search(len(lost), func(i int) bool { return lost[i].upTo > rv })
	if i == len(lost) || rv <= lost[i].after {
		return lostWindow{}, false
	}
	return lost[i], true
}

// lostWindowsAbove returns the lost windows that end above an RV.
func lostWindowsAbove(lost []lostWindow, rv RV) []lostWindow {
	for i := range lost {
		if lost[i].upTo > rv {
			return lost[i:]
		}
	}
	return nil
}

// lostWindowsBetween returns the lost windows between sorted RVs at which the State is known.
func lostWindowsBetween(known ...RV) []lostWindow {
	var lost []lostWindow
	for i := 1; i < len(known); i++ {
		if known[i]-known[i-1] > 1 {
			lost = append(lost, lostWindow{known[i-1], known[i]})
		}
	}
	return lost
}

// maxLostWindows is the maximum number of separate lost windows. The limit matters for a lane without events, because
// windows are dropped only when history drops events.
const maxLostWindows = 1024

// addLostWindows adds lost windows above all others. Call it before appending their events, because a reader that finds
// an event must also find its window. If there are too many windows, it merges the oldest.
func (h *history) addLostWindows(lost []lostWindow) {
	w := h.held.Load()
	all := slices.Concat(w.lostWindows, lost)
	if more := len(all) - maxLostWindows; more > 0 {
		all[more].after = all[0].after
		all = slices.Clone(all[more:])
	}
	h.held.Store(&window{w.base, w.first, w.segments, all})
}

func (h *history) lostWindowAt(rv RV) (lostWindow, bool) {
	return lostWindowAt(h.held.Load().lostWindows, rv)
}

func (h *history) lastLostWindow(rv RV) (found lostWindow, ok bool) {
	lost := lostWindowsAbove(h.held.Load().lostWindows, rv)
	if len(lost) == 0 {
		return lostWindow{}, false
	}
	return lost[len(lost)-1], true
}

const mostVouched = 256

// vouchedFor lists the vouched RVs that are above the RV of the written State and have its content. Clients may have
// read at these RVs and may watch from them. The next event clears the list. Guarded by Lane.writing.
type vouchedFor []RV

// add inserts an RV. When there are too many, it drops the smallest.
func (v *vouchedFor) add(rv, written RV) {
	at, found := slices.BinarySearch(*v, rv)
	if found {
		return
	}
	if len(*v) >= mostVouched {
		*v = slices.Clone((*v).above(written))
		*v = (*v)[max(0, len(*v)-mostVouched+1):]
		at, _ = slices.BinarySearch(*v, rv)
	}
	*v = slices.Insert(*v, at, rv)
}

func (v vouchedFor) above(rv RV) vouchedFor {
	at, found := slices.BinarySearch(v, rv)
	if found {
		at++
	}
	return v[at:]
}
