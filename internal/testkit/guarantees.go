package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Guarantee is a promise about watches or reads.
type Guarantee string

// The guarantees of watches. I3 to I7 are invariants of the cache.
const (
	Ordered      Guarantee = "ordered (I3): a watcher sees events in resourceVersion order, initial events in key order"
	Unique       Guarantee = "unique (I3): a watcher sees each event once"
	Reliable     Guarantee = "reliable (I5): from its start to its end a watch misses no event, and every event has the object's bytes at that version"
	Resumable    Guarantee = "resumable (I5): a watch from n begins with the first matching event after n and repeats nothing"
	Bookmarkable Guarantee = "bookmarkable (I4): a bookmark at n follows every matching event at or before n"
	Filtered     Guarantee = "filtered (I7): a watch sends selected objects only: entering is ADDED, leaving is DELETED with the previous content"
)

// BrokenError names the guarantee that a recording breaks, and the frame.
type BrokenError struct {
	Guarantee Guarantee
	Frame     int // the index in the recording
	Detail    string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("frame %d: %s; promised: %s", e.Frame, e.Detail, string(e.Guarantee))
}

// ErrStartUnknown is returned for a recording that cannot be checked, because neither its question nor its frames show
// the resourceVersion at which it starts.
var ErrStartUnknown = errors.New("start of the watch is unknown")

func broken(g Guarantee, frame int, format string, args ...any) error {
	return &BrokenError{Guarantee: g, Frame: frame, Detail: fmt.Sprintf(format, args...)}
}

// CheckWatch checks a recording against a model. It returns a *BrokenError for each broken guarantee, joined. The
// recording must be of one watch of the model's resource, without an ERROR event. Its question must determine its
// start, so a watch with initial events needs bookmarks. The model must include all versions of the recording.
func CheckWatch(r *Recording, m *Model) error {
	s, err := newStory(r, m)
	if err != nil {
		return err
	}
	return s.check(r, ordered, unique, bookmarkable, filtered, resumable, reliable)
}

func (s *story) check(r *Recording, checks ...func(*story) error) error {
	var errs []error
	for _, check := range checks {
		errs = append(errs, check(s))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s\n%w\n%s", r.Question, err, r)
	}
	return nil
}

// story is a parsed recording: the initial events, then live events, with bookmarks among both.
type story struct {
	*filter
	model       *Model
	events      []Event
	started     uint64     // the resourceVersion after which live events begin
	live        int        // the index of the first frame after the initial events and their bookmark
	reached     uint64     // the highest resourceVersion in the recording
	lostWindows []crossing // the lost windows that the facade has replayed, in order
}

func newStory(r *Recording, m *Model) (*story, error) {
	f, err := newFilter(r.Question)
	if err != nil {
		return nil, err
	}
	s := &story{filter: f, model: m, started: f.start, reached: r.Reached()}
	if s.events, err = r.Events(); err != nil {
		return nil, err
	}
	for _, e := range s.events {
		if e.Type == "ERROR" {
			return nil, fmt.Errorf("%s: the watch failed: %s", r.Question, e.Object)
		}
	}
	if f.initial {
		if s.live, s.started = s.initialEnd(); s.live == 0 {
			return nil, fmt.Errorf("%s: %w: no bookmark ends the initial events\n%s", r.Question, ErrStartUnknown, r)
		}
	}
	switch {
	case s.started == 0:
		return nil, fmt.Errorf("%s: %w", r.Question, ErrStartUnknown)
	case !f.within(m.scope):
		return nil, fmt.Errorf("%s: the watch selects objects that the model lacks", r.Question)
	case s.started < m.from || s.reached > m.to:
		return nil, fmt.Errorf("%s: the watch covers versions %d to %d, the model only %d to %d", r.Question, s.started,
			s.reached, m.from, m.to)
	}
	return s, nil
}

// initialEnd finds the first bookmark that ends the initial events. It returns the index after it, and its version.
func (s *story) initialEnd() (int, uint64) {
	for i, e := range s.events {
		if e.InitialEnd {
			return i + 1, e.RV
		}
	}
	return 0, 0
}

func ordered(s *story) error {
	byKey := func(before, after Event) bool { return before.Key < after.Key || s.representation == cellsOnly }
	if err := s.inOrder(0, s.live, byKey); err != nil {
		return err
	}
	// One transaction may delete several objects with equal versions (semantics 4.4). unique checks such events.
	return s.inOrder(s.live, len(s.events), func(before, after Event) bool { return before.RV <= after.RV })
}

func (s *story) inOrder(from, to int, rising func(before, after Event) bool) error {
	events, frames := s.notified(from, to)
	for i := 1; i < len(events); i++ {
		if !rising(events[i-1], events[i]) {
			return broken(Ordered, frames[i], "%s after %s", events[i], events[i-1])
		}
	}
	return nil
}

func unique(s *story) error {
	seen := map[string]int{}
	for i, e := range s.events {
		if e.Type == Bookmark {
			continue
		}
		id := fmt.Sprintf("%d %s %v", e.RV, e.Key, s.ofLostWindow(e))
		if first, ok := seen[id]; ok {
			return broken(Unique, i, "%s is repeated, first in frame %d", e, first)
		}
		seen[id] = i
	}
	return nil
}

// bookmarkable also checks where bookmarks are allowed (semantics 4.1, 4.3).
func bookmarkable(s *story) error {
	sent, marked := uint64(0), uint64(0)
	for i, e := range s.events {
		if e.Type != Bookmark {
			if i >= s.live && e.RV <= marked && !s.ofLostWindow(e) {
				return broken(Bookmarkable, i, "%s after a bookmark at %d", e, marked)
			}
			sent = max(sent, e.RV)
			continue
		}
		switch {
		case !s.bookmarks:
			return broken(Bookmarkable, i, "%s, but the watch did not request bookmarks", e)
		case e.InitialEnd != (s.initial && i+1 == s.live):
			return broken(Bookmarkable, i, "%s: exactly the bookmark after the initial events must have the annotation", e)
		case i+1 < s.live:
			return broken(Bookmarkable, i, "%s before the end of the initial events", e)
		case e.RV < max(sent, marked, s.start):
			return broken(Bookmarkable, i, "%s after an event at %d", e, max(sent, marked, s.start))
		}
		marked = e.RV
	}
	return nil
}

// wanted returns the expected initial events, and the expected live events up to the highest version of the recording.
func (s *story) wanted() (initial, live []Event) {
	if s.initial {
		initial = s.model.initial(s.filter, s.started)
	}
	return initial, s.after()
}

// notified returns the events between two frames, without bookmarks, with the indexes of their frames.
func (s *story) notified(from, to int) (events []Event, frames []int) {
	for i := from; i < to; i++ {
		if s.events[i].Type != Bookmark {
			events, frames = append(events, s.events[i]), append(frames, i)
		}
	}
	return events, frames
}

// filtered checks that every event of the recording is in the model, with the same type.
func filtered(s *story) error {
	initial, live := s.wanted()
	allowed := map[string]bool{}
	for _, e := range append(initial, live...) {
		allowed[s.identity(e)] = true
	}
	events, frames := s.notified(0, len(s.events))
	for i, e := range events {
		if !allowed[s.identity(e)] {
			return broken(Filtered, frames[i], "%s is not expected", e)
		}
	}
	return nil
}

func (s *story) identity(e Event) string {
	if s.representation == cellsOnly {
		e.Key = "" // only the cells have the name
	}
	return e.String()
}

// resumable checks that the first event is the first matching event after the start.
func resumable(s *story) error {
	_, live := s.wanted()
	events, frames := s.notified(s.live, len(s.events))
	switch {
	case len(events) == 0 || len(live) == 0:
		return nil // reliable reports missing events
	case events[0].RV <= s.started && !s.ofLostWindow(events[0]):
		return broken(Resumable, frames[0], "%s in a watch that starts after %d", events[0], s.started)
	case events[0].RV != live[0].RV:
		return broken(Resumable, frames[0], "%s is the first event after %d, want %s", events[0], s.started, live[0])
	}
	return nil
}

// reliable checks that every expected event is in the recording, with the same bytes.
func reliable(s *story) error {
	initial, live := s.wanted()
	events, frames := s.notified(0, s.live)
	if err := s.same(initial, events, frames); err != nil {
		return err
	}
	events, frames = s.notified(s.live, len(s.events))
	return s.same(live, events, frames)
}

func (s *story) same(want, got []Event, frames []int) error {
	told := map[string]int{}
	for i, e := range got {
		told[s.identity(e)] = i
	}
	for _, e := range want {
		i, ok := told[s.identity(e)]
		if !ok {
			return broken(Reliable, len(s.events), "%s is missing", e)
		}
		object, err := s.show(e.Object)
		if err != nil {
			return err
		}
		if !bytes.Equal(object, got[i].Object) {
			return broken(Reliable, frames[i], "%s has other bytes\n%s", e,
				strings.ReplaceAll(around(object, got[i].Object), "upstream", "model   "))
		}
	}
	return nil
}
