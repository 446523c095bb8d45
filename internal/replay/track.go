package replay

import (
	"bytes"
	"context"
	"iter"
	"time"

	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/wire"
)

// step is a change of a lane.
type step struct {
	kind   stepKind
	rv     uint64
	at     time.Time
	key    string
	stored stored // content of stepUpsert and stepDelete, valid until the next step is read
	// The fields list and identity are set in a stepList only: the objects by key, and their description.
	list     map[string]*stored
	identity *journal.Identity
}

type stepKind int

const (
	stepUpsert stepKind = iota
	stepDelete
	stepProgress
	// stepList replaces the objects of the lane. Events between the previous step and this one may be missing.
	stepList
)

// stored is an object as the journal has it.
type stored struct {
	rv      uint64
	payload []byte
	by      []*wire.Dictionary // dictionaries of the segment
}

// kept returns a copy that remains valid when the next step is read.
func (s *stored) kept() *stored {
	return &stored{rv: s.rv, payload: bytes.Clone(s.payload), by: s.by}
}

// track reads the steps of one lane. Used by one goroutine.
type track struct {
	ctx     context.Context //nolint:containedctx // context of the reads in next
	rest    []journal.Segment
	last    *journal.Segment // segment that was opened last
	next    func() (journal.Record, error, bool)
	stop    func()
	by      []*wire.Dictionary
	record  *journal.Record // first event after a checkpoint, until it is returned; else nil
	ahead   *step           // next step; nil if it was not read yet
	failure error           // error because of which the track ends early; nil if none
	// reported says whether the failure was logged. Only the player uses this field.
	reported bool
}

// newTrack returns a track that begins with the checkpoint of the first segment. There must be at least one segment.
func newTrack(ctx context.Context, segments []journal.Segment) *track {
	return &track{ctx: ctx, rest: segments, stop: func() {}}
}

func (t *track) close() { t.stop() }

// peek returns the next step, or nil at the end of the track.
func (t *track) peek() *step {
	if t.ahead == nil {
		t.ahead = t.read()
	}
	return t.ahead
}

func (t *track) fail(err error) { t.failure = err }

func (t *track) take() { t.ahead = nil }

func (t *track) read() *step {
	for t.failure == nil {
		if t.next == nil {
			if len(t.rest) == 0 {
				return nil
			}
			if list := t.open(); list != nil {
				return list
			}
			continue
		}
		if r := t.event(); r != nil {
			return t.stepOf(r)
		}
		t.stop()
		t.next = nil
	}
	return nil
}

// open begins the next segment. It returns a stepList with the checkpoint, or nil if the segment continues the previous
// one or cannot be read.
func (t *track) open() *step {
	s := &t.rest[0]
	t.rest, t.by = t.rest[1:], nil
	continues := t.last != nil && s.Continues(t.last)
	t.last = s
	if s.Err != nil {
		t.failure = s.Err
		return nil
	}
	if continues {
		t.next, t.stop = iter.Pull2(s.Events(t.ctx, 0))
		return nil
	}
	t.next, t.stop = iter.Pull2(s.Records(t.ctx))
	list := &step{kind: stepList, rv: s.RV, at: s.Time, list: map[string]*stored{}, identity: &s.Identity}
	t.record = t.checkpoint(list.list)
	if t.failure != nil && len(list.list) < s.Objects {
		return nil
	}
	return list
}

// checkpoint reads the objects of a checkpoint, and returns the first event after them, or nil at the end of the
// segment or after an error.
func (t *track) checkpoint(to map[string]*stored) *journal.Record {
	for {
		r := t.any()
		if r == nil || r.Kind != journal.Object {
			return r
		}
		to[r.Key] = (&stored{rv: r.RV, payload: r.Payload, by: t.by}).kept()
	}
}

func (t *track) event() *journal.Record {
	if r := t.record; r != nil {
		t.record = nil
		return r
	}
	return t.any()
}

// any returns the next record that is no dictionary, or nil at the end of the segment or after an error.
func (t *track) any() *journal.Record {
	for {
		r, err, ok := t.next()
		if err == nil && ok && r.Kind == journal.Dictionary {
			var d *wire.Dictionary
			if d, err = wire.ReadDictionary(bytes.Clone(r.Payload)); err == nil {
				t.by = append(t.by[:len(t.by):len(t.by)], d) // objects read before keep the shorter slice
				continue
			}
		}
		if err != nil {
			t.failure = err
		}
		if err != nil || !ok {
			return nil
		}
		return &r
	}
}

func (t *track) stepOf(r *journal.Record) *step {
	s := &step{rv: r.RV, at: r.Time, key: r.Key, stored: stored{rv: r.RV, payload: r.Payload, by: t.by}}
	switch r.Kind {
	case journal.Upsert:
		s.kind = stepUpsert
	case journal.Delete:
		s.kind = stepDelete
	default:
		s.kind = stepProgress
	}
	return s
}
