package testkit

import (
	"cmp"
	"slices"
)

// LostWindow is a time of which a facade was told nothing, between two versions, and which it has bridged: its watches
// were told what the later had otherwise than the earlier (docs/adr/0021-gaps-are-bridged.md).
type LostWindow struct{ From, To uint64 }

// inside tells whether a version is one at which the facade does not know what there was.
func (g LostWindow) inside(rv uint64) bool { return g.From < rv && rv < g.To }

// Replayed is what a watch keeps in gaps, beside all others.
const Replayed Guarantee = "bridged (I11, I12): of a gap the difference is told, what is gone first, the rest in order, and nothing is claimed inside"

// CheckReplayed is CheckWatch for a watch of a facade that has bridged these gaps, each above the last. The recording
// must reach behind every gap that it reaches.
func CheckReplayed(r *Recording, m *Model, lost ...LostWindow) error {
	s, err := newStory(r, m)
	if err != nil {
		return err
	}
	for _, g := range lost {
		s.lostWindows = append(s.lostWindows, crossing{g, m.state(g.From)})
	}
	if len(s.events) == 0 && slices.ContainsFunc(lost, func(g LostWindow) bool { return g.inside(s.started) }) {
		return nil // it began before that was known to be inside a gap, and ended with a 410 when it was
	}
	for _, g := range s.lostWindows {
		begun := slices.ContainsFunc(s.events[s.live:], func(e Event) bool { return s.goneIn(g, e) })
		if g.inside(s.reached) || begun && s.reached == g.From {
			s.reached = g.To // what is not told any more is missing
		}
	}
	return s.check(r, ordered, unique, bookmarkable, filtered, resumable, reliable, replayed)
}

// crossing is a gap, and what there was before it.
type crossing struct {
	LostWindow
	before map[string]*version
}

// ofLostWindow tells whether an event says that an object has gone, or left the selector, in a gap. Nobody knows when,
// so it is told at the version behind which the gap begins, where the object still was.
func (s *story) ofLostWindow(e Event) bool {
	return slices.ContainsFunc(s.lostWindows, func(g crossing) bool { return s.goneIn(g, e) })
}

// goneIn is ofLostWindow for one gap.
func (s *story) goneIn(g crossing, e Event) bool {
	return e.Type == Deleted && e.RV == g.From && (s.representation == cellsOnly || s.matches(e.Key, g.before[e.Key]))
}

// bridged holds what is true of gaps alone.
func replayed(s *story) error {
	for _, g := range s.lostWindows {
		if g.inside(s.started) {
			return broken(Replayed, 0, "a watch from %d, inside the gap from %d to %d", s.started, g.From, g.To)
		}
		last := uint64(0)
		for i, e := range s.events {
			switch {
			// Of the next, at whose beginning several may go
			case i < s.live || e.RV <= g.From || e.RV > g.To || s.ofLostWindow(e):
			case e.Type == Bookmark && e.RV < g.To:
				return broken(Replayed, i, "%s, inside the gap from %d to %d", e, g.From, g.To)
			case e.Type != Bookmark && e.RV <= last:
				return broken(Replayed, i, "%s, and another event at that version", e)
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
	for _, g := range s.lostWindows {
		if g.To <= at || g.From >= s.reached {
			continue
		}
		all = append(append(all, s.model.after(s.filter, at, g.From)...), s.difference(g)...)
		at = g.To
	}
	return append(all, s.model.after(s.filter, at, s.reached)...)
}

// difference is what is to be told of a gap: what is gone first, and then the changes.
func (s *story) difference(g crossing) []Event {
	before, after := g.before, s.model.state(g.To)
	var gone, changes []Event
	for key, was := range before {
		now, matched := after[key], s.matches(key, was)
		stays := now != nil && uidOf(now) == uidOf(was)
		if matched && (!stays || !s.matches(key, now)) {
			gone = append(gone, Event{Type: Deleted, Key: key, RV: g.From, Object: was.at(g.From)})
		}
	}
	for key, now := range after {
		was := before[key]
		switch {
		case was != nil && was.rv == now.rv, !s.matches(key, now):
		case was != nil && uidOf(was) == uidOf(now) && s.matches(key, was):
			changes = append(changes, Event{Type: Modified, Key: key, RV: now.rv, Object: now.raw})
		default:
			changes = append(changes, Event{Type: Added, Key: key, RV: now.rv, Object: now.raw})
		}
	}
	slices.SortFunc(changes, func(a, b Event) int { return cmp.Compare(a.RV, b.RV) })
	return append(gone, changes...)
}

func uidOf(v *version) any {
	metadata, _ := v.content["metadata"].(map[string]any)
	return metadata["uid"]
}
