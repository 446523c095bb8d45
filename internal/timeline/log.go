package timeline

import (
	"context"
	"fmt"
	"time"
)

// history follows one object through a span.
type history struct {
	key    string
	span   *span
	show   func(*Entry) error
	start  time.Time // beginning of the period or of the journal, whichever is later
	last   *object
	seen   uint64 // version of the last object; 0 if there is none
	listed uint64 // version of the object in the checkpoint after a gap; 0 if the object is not there
	found  bool
}

// log calls the function show with the changes of one object and the holes of its resource, in the order of the
// journal. It returns ErrNoObject if the period has no such object.
func (p *period) log(ctx context.Context, s *span, key string, show func(*Entry) error) error {
	h := history{key: key, span: s, show: show, start: p.from.Time}
	if begins := s.segments[0].Time; h.start.Before(begins) {
		h.start = begins
	}
	first, last := p.edges(s)
	begun := false // whether the state at the beginning was printed
	for step, err := range s.steps(ctx) {
		if err != nil {
			return err
		}
		if past := step.kind != content && (step.kind != event || step.within); past && !begun {
			begun = true
			if err := h.begin(first); err != nil {
				return err
			}
		}
		if err := h.step(step, begun); err != nil {
			return fmt.Errorf("%s %s: %w", s.resource, key, err)
		}
	}
	if !begun {
		if err := h.begin(first); err != nil {
			return err
		}
	}
	if err := h.holes(last); err != nil {
		return err
	}
	if !h.found {
		return fmt.Errorf("%s %s: %w", s.resource, key, ErrNoObject)
	}
	return nil
}

func (h *history) holes(all []Entry) error {
	for i := range all {
		if err := h.show(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// begin prints the state at the beginning: holes, and the object if it existed.
func (h *history) begin(holes []Entry) error {
	if err := h.holes(holes); err != nil || h.last == nil {
		return err
	}
	e := Entry{
		Type: Existed, Time: h.start, Version: h.seen, UID: h.last.uid, Managers: h.last.latest(), after: h.last.content,
	}
	return h.entry(&e)
}

func (h *history) entry(e *Entry) error {
	h.found = true
	e.Resource = h.span.resource
	e.Namespace, e.Name = split(h.key)
	return h.show(e)
}

// step prints the change that a step makes, if the period has begun.
func (h *history) step(s *step, begun bool) error {
	switch {
	case s.kind == gap:
		h.listed = 0
		return h.show(&s.hole)
	case s.kind == counted && h.listed == 0 && h.last != nil:
		return h.change(held{}, Entry{Note: "deleted in a hole"}, begun)
	case s.kind == counted || s.Key != h.key:
		return nil
	case s.kind == content && begun:
		if h.listed = s.RV; h.listed == h.seen {
			return nil
		}
		return h.change(s.held(), Entry{Version: s.RV, Note: "changed in a hole"}, begun)
	}
	at := s.Time
	if s.kind == content {
		at = time.Time{}
	}
	return h.change(s.held(), Entry{Time: at, Version: s.RV}, begun)
}

// change replaces the last object. It prints the difference, with time, version and note of the given entry.
func (h *history) change(next held, of Entry, begun bool) error {
	o, err := next.object()
	if err != nil {
		return err
	}
	before := h.last
	if h.last, h.seen = o, of.Version; o == nil {
		h.seen = 0
	}
	if !begun || before == nil && o == nil {
		return nil
	}
	e, changed := compare(before, o)
	if !changed {
		h.found = true
		return nil
	}
	e.Time, e.Version = of.Time, of.Version
	if of.Note != "" {
		e.Note = of.Note
	}
	return h.entry(&e)
}
