package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/listfacade/listfacade/internal/journal"
)

// span is the part of a lane's journal that has the content at the beginning of a period, and the events up to the end.
type span struct {
	lane     string
	resource Resource
	encoding string
	segments []journal.Segment // at least one, in the order of writing
	// The events of the period have versions > from in the first segment, and <= to in the last one.
	from, to uint64
	// late is set if the journal has no content at the beginning of the period. The first checkpoint in the period then
	// counts as the beginning.
	late bool
}

// span returns the span of a lane. It returns false if the journal does not have the lane in the period. It selects
// segments by the sequence numbers at the edges, because resourceVersions repeat after a restore of the cluster from a
// backup.
func (p *period) span(all []journal.Segment, lane string) (span, bool) {
	first, last := p.from.lane(lane).Segment.Sequence, p.to.lane(lane).Segment.Sequence
	var usable []journal.Segment
	for _, s := range all {
		if s.Err == nil && s.Cluster == p.cluster && s.Sequence >= first && s.Sequence <= last {
			usable = append(usable, s)
		}
	}
	if len(usable) == 0 {
		return span{}, false
	}
	gvr, err := usable[0].GVR()
	if err != nil {
		return span{}, false
	}
	s := span{
		lane: lane, resource: resourceOf(gvr), encoding: usable[0].Encoding, segments: usable, from: p.from.cut.RV,
		to: p.to.cut.RV,
	}
	if usable[0].Sequence != first {
		s.late, s.from = true, usable[0].RV
	}
	return s, true
}

func (s *span) gaps() int {
	n := 0
	for i := range s.segments[1:] {
		if !s.segments[i+1].Continues(&s.segments[i]) {
			n++
		}
	}
	if s.late {
		n++
	}
	return n
}

func (s *span) lost(since, until time.Time, version uint64, note string) Entry {
	return Entry{Type: Lost, Resource: s.resource, Since: since, Time: until, Version: version, Note: note}
}

type stepKind int

const (
	content stepKind = iota // an object of a checkpoint
	event                   // an object was created, changed or deleted
	gap                     // events may be missing; a checkpoint or the end of the span follows
	counted                 // the end of the checkpoint after a gap
)

type step struct {
	kind stepKind
	journal.Record
	of     *source
	within bool  // whether an event belongs to the period
	hole   Entry // events that may be missing in a gap
}

// held returns a copy of the object after the step, or no object if the step deletes it. The copy remains valid after
// the next step.
func (s *step) held() held {
	if s.Kind == journal.Delete {
		return held{}
	}
	return held{payload: append([]byte(nil), s.Payload...), of: s.of}
}

// steps returns the steps of a span in their order: the first checkpoint, and then all events up to the end. It yields
// fs.ErrNotExist if the first segment was removed after the span was made.
func (s *span) steps(ctx context.Context) iter.Seq2[*step, error] {
	return func(yield func(*step, error) bool) {
		// intact says whether the previous segment was read completely. last is the time of the last record.
		intact, last := true, s.segments[0].Time
		for i := range s.segments {
			w := walk{span: s, index: i, segment: &s.segments[i], yield: yield, last: last}
			follows := i == 0 || intact && s.segments[i].Continues(&s.segments[i-1])
			if !follows && !w.gap() {
				return
			}
			goesOn, err := w.read(ctx, i > 0 && follows)
			removed := errors.Is(err, fs.ErrNotExist)
			intact = !removed && !errors.Is(err, journal.ErrDamaged)
			if err != nil && (intact || i == 0 && (removed || w.objects < w.segment.Objects)) {
				yield(nil, err)
				return
			}
			if !goesOn {
				return
			}
			last = w.last
		}
		if !intact {
			end := &s.segments[len(s.segments)-1]
			hole := s.lost(last, end.Until, min(end.Last, s.to), "the journal is damaged")
			yield(&step{kind: gap, hole: hole}, nil)
		}
	}
}

// walk reads one segment of a span.
type walk struct {
	*span
	index   int
	segment *journal.Segment
	yield   func(*step, error) bool
	pending bool // the checkpoint after a gap has not ended
	objects int  // number of objects of the checkpoint that were read
	last    time.Time
}

// gap yields the hole before the segment, and returns the result of yield.
func (w *walk) gap() bool {
	w.pending = true
	hole := w.lost(w.last, w.segment.Time, w.segment.RV, "the journal may lack events")
	return w.yield(&step{kind: gap, hole: hole}, nil)
}

// read yields the steps of the segment. If events is true, it omits the checkpoint. It returns false at the end of the
// period, or after yield returned false. Before it returns journal.ErrDamaged, it yields the steps before the damage.
func (w *walk) read(ctx context.Context, events bool) (goesOn bool, err error) {
	of, err := newSource(&w.segment.Identity)
	if err != nil {
		return false, fmt.Errorf("%s: %w", w.segment.Path, err)
	}
	records := w.segment.Records(ctx)
	if events {
		records = w.segment.Events(ctx, 0)
	}
	for r, err := range records {
		if err != nil {
			return true, err
		}
		if goesOn, err := w.record(r, of); err != nil || !goesOn {
			return false, err
		}
	}
	return w.end(), nil
}

func (w *walk) record(r journal.Record, of *source) (goesOn bool, err error) {
	switch r.Kind {
	case journal.Dictionary:
		return true, of.add(r.Payload)
	case journal.Object:
		w.objects++
		return w.yield(&step{kind: content, Record: r, of: of}, nil), nil
	case journal.Progress, journal.Upsert, journal.Delete:
		w.last = r.Time
	}
	if r.RV > w.to && w.index == len(w.segments)-1 {
		w.end()
		return false, nil
	}
	if goesOn := w.end(); !goesOn || r.Kind == journal.Progress {
		return goesOn, nil
	}
	return w.yield(&step{kind: event, Record: r, of: of, within: w.index > 0 || r.RV > w.from}, nil), nil
}

// end yields the step counted if the walk has just read the checkpoint after a gap. It returns false if yield returns
// false.
func (w *walk) end() bool {
	if !w.pending {
		return true
	}
	w.pending = false
	return w.yield(&step{kind: counted}, nil)
}
