package testkit

import (
	"cmp"
	"slices"
)

// LostWindow is an interval of resourceVersions. A facade did not receive the events in this interval. Its watches
// received the differences between the states at both ends instead (ADR 21).
type LostWindow struct{ From, To uint64 }

// inside reports whether a version is between the ends of the lost window. The facade does not have the state at such a
// version.
func (g LostWindow) inside(rv uint64) bool { return g.From < rv && rv < g.To }

// Replayed is the additional guarantee of watches across lost windows.
const Replayed Guarantee = "replayed (I11, I12): for a lost window a watch sends the differences, deletions first, the rest in order, and no version inside"

// CheckReplayed is CheckWatch for a watch of a facade that has replayed these lost windows, in ascending order. A
// recording that reaches a lost window must reach its end.
func CheckReplayed(r *Recording, m *Model, lost ...LostWindow) error {
	s, err := newStory(r, m)
	if err != nil {
		return err
	}
	for _, g := range lost {
		s.lostWindows = append(s.lostWindows, crossing{g, m.state(g.From)})
	}
	if len(s.events) == 0 && slices.ContainsFunc(lost, func(g LostWindow) bool { return g.inside(s.started) }) {
		return nil // the watch began before the facade detected the lost window, and ended with 410
	}
	for _, g := range s.lostWindows {
		begun := slices.ContainsFunc(s.events[s.live:], func(e Event) bool { return s.goneIn(g, e) })
		if g.inside(s.reached) || begun && s.reached == g.From {
			s.reached = g.To // so that the checks fail if the rest of the replay is missing
		}
	}
	return s.check(r, ordered, unique, bookmarkable, filtered, resumable, reliable, replayed)
}

// crossing is a lost window with the state before it.
type crossing struct {
	LostWindow
	before map[string]*version
}

// ofLostWindow reports whether an event is a DELETED event of a lost window: its object was deleted, or is no longer
// selected, at the end of the window. The version of that change is unknown, so the event has the version at which the
// lost window begins.
func (s *story) ofLostWindow(e Event) bool {
	return slices.ContainsFunc(s.lostWindows, func(g crossing) bool { return s.goneIn(g, e) })
}

// goneIn is ofLostWindow for one lost window.
func (s *story) goneIn(g crossing, e Event) bool {
	return e.Type == Deleted && e.RV == g.From && (s.representation == cellsOnly || s.matches(e.Key, g.before[e.Key]))
}

func replayed(s *story) error {
	for _, g := range s.lostWindows {
		if g.inside(s.started) {
			return broken(Replayed, 0, "a watch from %d, inside the lost window from %d to %d", s.started, g.From, g.To)
		}
		last := uint64(0)
		for i, e := range s.events {
			switch {
			// Deletions at the beginning of the next lost window may have equal versions.
			case i < s.live || e.RV <= g.From || e.RV > g.To || s.ofLostWindow(e):
			case e.Type == Bookmark && e.RV < g.To:
				return broken(Replayed, i, "%s, inside the lost window from %d to %d", e, g.From, g.To)
			case e.Type != Bookmark && e.RV <= last:
				return broken(Replayed, i, "%s, and another event at that version", e)
			case e.Type != Bookmark:
				last = e.RV
			}
		}
	}
	return nil
}

// after returns the expected live events: for each lost window the differences, otherwise every change.
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

// difference returns the expected events of a lost window: deletions first, then changes.
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
