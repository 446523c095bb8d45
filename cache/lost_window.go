package cache

import (
	"slices"
	"sort"
)

// gap is a part of an epoch of which no events came: those above after and up to upTo. What the State was at after and
// what it is at upTo is known, and so is what led from the one to the other as a comparison finds it (comparison). What
// there was in between nobody knows, so nothing is read there, and no watch starts there.
type lostWindow struct{ after, upTo RV }

// lostWindowAt returns the gap that an RV is in. The gaps are in order and apart.
func lostWindowAt(lost []lostWindow, rv RV) (g lostWindow, in bool) {
	i := sort.Search(len(lost), func(i int) bool { return lost[i].upTo > rv })
	if i == len(lost) || rv <= lost[i].after {
		return lostWindow{}, false
	}
	return lost[i], true
}

// lostWindowsAbove returns the gaps that end above an RV.
func lostWindowsAbove(lost []lostWindow, rv RV) []lostWindow {
	for i := range lost {
		if lost[i].upTo > rv {
			return lost[i:]
		}
	}
	return nil
}

// lostWindowsBetween returns the gaps that versions in order leave among each other; at each of them the State is
// known.
func lostWindowsBetween(known ...RV) []lostWindow {
	var lost []lostWindow
	for i := 1; i < len(known); i++ {
		if known[i]-known[i-1] > 1 {
			lost = append(lost, lostWindow{known[i-1], known[i]})
		}
	}
	return lost
}

// maxLostWindows is how many gaps are told apart. A lane without events keeps all that it has met, for its history is
// trimmed by events.
const maxLostWindows = 1024

// addLostWindows adds gaps that lie above all others, before an event of them is appended: who finds the event finds
// the gap. Of too many the oldest become one, and what was known between them is not any more.
func (h *history) addLostWindows(lost []lostWindow) {
	w := h.held.Load()
	all := slices.Concat(w.lostWindows, lost)
	if more := len(all) - maxLostWindows; more > 0 {
		all[more].after = all[0].after
		all = slices.Clone(all[more:])
	}
	h.held.Store(&window{w.base, w.first, w.segments, all})
}

// lostWindowAt returns the gap that an RV is in.
func (h *history) lostWindowAt(rv RV) (lostWindow, bool) {
	return lostWindowAt(h.held.Load().lostWindows, rv)
}

// lastLostWindow returns the newest gap above an RV.
func (h *history) lastLostWindow(rv RV) (g lostWindow, found bool) {
	lost := lostWindowsAbove(h.held.Load().lostWindows, rv)
	if len(lost) == 0 {
		return lostWindow{}, false
	}
	return lost[len(lost)-1], true
}

// mostVouched is how many of the RVs that were vouched for are remembered.
const mostVouched = 256

// vouchedFor are the RVs above that of the written State at which the upstream's content is known to have been the
// same: clients may have read there and watch from there. With the next event, nothing is known there any more but
// what readers see. Guarded by Lane.writing.
type vouchedFor []RV

// add remembers an RV. Of too many the oldest go.
func (v *vouchedFor) add(rv, written RV) {
	at, there := slices.BinarySearch(*v, rv)
	if there {
		return
	}
	if len(*v) >= mostVouched {
		*v = slices.Clone((*v).above(written))
		*v = (*v)[max(0, len(*v)-mostVouched+1):]
		at, _ = slices.BinarySearch(*v, rv)
	}
	*v = slices.Insert(*v, at, rv)
}

// above returns those above an RV.
func (v vouchedFor) above(rv RV) vouchedFor {
	at, there := slices.BinarySearch(v, rv)
	if there {
		at++
	}
	return v[at:]
}
