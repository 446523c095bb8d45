package cache

import (
	"slices"
	"sort"
)

// gap is a part of an epoch of which no events came: those above after and up to upTo. What the State was at after and
// what it is at upTo is known, and so is what led from the one to the other as a comparison finds it (comparison). What
// there was in between nobody knows, so nothing is read there, and no watch starts there.
type gap struct{ after, upTo RV }

// gapAt returns the gap that an RV is in. The gaps are in order and apart.
func gapAt(gaps []gap, rv RV) (g gap, in bool) {
	i := sort.Search(len(gaps), func(i int) bool { return gaps[i].upTo > rv })
	if i == len(gaps) || rv <= gaps[i].after {
		return gap{}, false
	}
	return gaps[i], true
}

// gapsAbove returns the gaps that end above an RV.
func gapsAbove(gaps []gap, rv RV) []gap {
	for i := range gaps {
		if gaps[i].upTo > rv {
			return gaps[i:]
		}
	}
	return nil
}

// gapsBetween returns the gaps that versions in order leave among each other; at each of them the State is known.
func gapsBetween(known ...RV) []gap {
	var gaps []gap
	for i := 1; i < len(known); i++ {
		if known[i]-known[i-1] > 1 {
			gaps = append(gaps, gap{known[i-1], known[i]})
		}
	}
	return gaps
}

// mostGaps is how many gaps are told apart. A lane without events keeps all that it has met, for its history is trimmed
// by events.
const mostGaps = 1024

// addGaps adds gaps that lie above all others, before an event of them is appended: who finds the event finds the gap.
// Of too many the oldest become one, and what was known between them is not any more.
func (h *history) addGaps(gaps []gap) {
	w := h.held.Load()
	all := slices.Concat(w.gaps, gaps)
	if more := len(all) - mostGaps; more > 0 {
		all[more].after = all[0].after
		all = slices.Clone(all[more:])
	}
	h.held.Store(&window{w.base, w.first, w.segments, all})
}

// gapAt returns the gap that an RV is in.
func (h *history) gapAt(rv RV) (gap, bool) { return gapAt(h.held.Load().gaps, rv) }

// lastGap returns the newest gap above an RV.
func (h *history) lastGap(rv RV) (g gap, found bool) {
	gaps := gapsAbove(h.held.Load().gaps, rv)
	if len(gaps) == 0 {
		return gap{}, false
	}
	return gaps[len(gaps)-1], true
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
