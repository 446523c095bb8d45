package testkit

import (
	"maps"
	"slices"
)

// Gap is a time of which a facade was told nothing, between two versions, and which it has bridged: its watches were
// told what the later had otherwise than the earlier (docs/adr/0021-gaps-are-bridged.md).
type Gap struct{ From, To uint64 }

// inside tells whether a version is one at which the facade does not know what there was.
func (g Gap) inside(rv uint64) bool { return g.From < rv && rv < g.To }

// Bridged is what a watch keeps in gaps, beside all others.
const Bridged Guarantee = "bridged (I11, I12): of a gap the difference is told, in order, each event at a version of its own, and nothing is claimed inside"

// CheckBridged is CheckWatch for a watch of a facade that has bridged these gaps, each above the last. The recording
// must reach behind every gap that it reaches.
func CheckBridged(r *Recording, m *Model, gaps ...Gap) error {
	s, err := newStory(r, m)
	if err != nil {
		return err
	}
	s.gaps = gaps
	for _, g := range gaps {
		if g.inside(s.reached) {
			s.reached = g.To // what is not told any more is missing
		}
	}
	return s.check(r, ordered, unique, bookmarkable, filtered, resumable, reliable, bridged)
}

// bridged holds what is true of gaps alone.
func bridged(s *story) error {
	for _, g := range s.gaps {
		if g.inside(s.started) {
			return broken(Bridged, 0, "a watch from %d, inside the gap from %d to %d", s.started, g.From, g.To)
		}
		last := uint64(0)
		for i, e := range s.events {
			switch {
			case i < s.live || e.RV <= g.From || e.RV > g.To:
			case e.Type == Bookmark && e.RV < g.To:
				return broken(Bridged, i, "%s, inside the gap from %d to %d", e, g.From, g.To)
			case e.Type != Bookmark && e.RV <= last:
				return broken(Bridged, i, "%s, and another event at that version", e)
			case e.Type != Bookmark:
				last = e.RV
			}
		}
	}
	return nil
}

// after is what is to be told live: of each gap the difference, of all else every change.
func (s *story) after() []Event {
	var all []Event
	at := s.started
	for _, g := range s.gaps {
		if g.To <= at || g.From >= s.reached {
			continue
		}
		all = append(append(all, s.model.after(s.filter, at, g.From)...), s.difference(g)...)
		at = g.To
	}
	return append(all, s.model.after(s.filter, at, s.reached)...)
}

// difference is what is to be told of a gap. Nobody knows the version of a deletion: it is the one that was told, if
// that is one of the gap, and comes before an object of the same name.
func (s *story) difference(g Gap) []Event {
	before, after := s.model.state(g.From), s.model.state(g.To)
	var events []Event
	gone := func(key string, below uint64) {
		if was := before[key]; s.matches(key, was) {
			rv := s.toldGone(key, g.From, below)
			events = append(events, Event{Type: Deleted, Key: key, RV: rv, Object: was.at(rv)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if now := after[key]; now == nil {
			gone(key, g.To+1)
		} else if uidOf(now) != uidOf(before[key]) {
			gone(key, now.rv)
			before[key] = nil
		}
	}
	for key, now := range after {
		was := before[key]
		if was != nil && was.rv == now.rv {
			continue
		}
		matched, matches := s.matches(key, was), s.matches(key, now)
		switch {
		case matched && matches:
			events = append(events, Event{Type: Modified, Key: key, RV: now.rv, Object: now.raw})
		case matches:
			events = append(events, Event{Type: Added, Key: key, RV: now.rv, Object: now.raw})
		case matched:
			events = append(events, Event{Type: Deleted, Key: key, RV: now.rv, Object: was.at(now.rv)})
		}
	}
	slices.SortFunc(events, func(a, b Event) int { return int(a.RV) - int(b.RV) }) //nolint:gosec // versions of tests are small
	return events
}

// toldGone is the version of the first DELETED of an object that was told between two versions; the last that it may
// have if none was.
func (s *story) toldGone(key string, above, below uint64) uint64 {
	for _, e := range s.events[s.live:] {
		if e.Type == Deleted && e.Key == key && above < e.RV && e.RV < below {
			return e.RV
		}
	}
	return below - 1
}

func uidOf(v *version) any {
	metadata, _ := v.content["metadata"].(map[string]any)
	return metadata["uid"]
}
