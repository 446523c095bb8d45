package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"
)

// Records returns the segment's records in the order of writing: the checkpoint, then the events. Records ends without
// an error at a torn end. At damage before the end, it yields ErrDamaged; the records before the damage are valid. It
// yields fs.ErrNotExist if the segment was removed, and the context's cause if the context ends. The writer may append
// meanwhile.
func (s *Segment) Records(ctx context.Context) iter.Seq2[Record, error] {
	return s.read(ctx, func(*header) bool { return true })
}

// Events returns all dictionaries of the segment, and its events and progress after a resourceVersion. For errors, see
// Records.
func (s *Segment) Events(ctx context.Context, after uint64) iter.Seq2[Record, error] {
	all := s.read(ctx, func(h *header) bool {
		return h.Kind == dictionaryBlock || h.Kind == eventsBlock && h.Last > after
	})
	return func(yield func(Record, error) bool) {
		for r, err := range all {
			if (err != nil || !r.Kind.isEvent() || r.RV > after) && !yield(r, err) {
				return
			}
		}
	}
}

func (s *Segment) read(ctx context.Context, selects func(*header) bool) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		file, size, err := openFile(s.Path, os.O_RDONLY)
		if err != nil {
			yield(Record{}, fmt.Errorf("open segment: %w", err))
			return
		}
		defer func() { _ = file.Close() }()
		b := &blocks{file: file, size: size}
		defer b.close()
		if err := b.all(ctx, selects, func(r Record) bool { return yield(r, nil) }); err != nil {
			yield(Record{}, fmt.Errorf("read %s: %w", s.Path, err))
		}
	}
}

// at returns the last record at or before a time, in the order of writing. at treats the checkpoint as a record. If the
// segment is damaged, at considers only the records before the damage.
func (s *Segment) at(ctx context.Context, t time.Time) (rv uint64, recorded time.Time, err error) {
	rv, recorded = s.RV, s.Time
	late := func(h *header) bool { return h.Kind == eventsBlock && !milliseconds(h.Earliest).After(t) }
	for r, err := range s.read(ctx, late) {
		switch {
		case errors.Is(err, ErrDamaged):
			return rv, recorded, nil
		case err != nil:
			return 0, time.Time{}, err
		case r.Kind.isEvent() && !r.Time.After(t):
			rv, recorded = r.RV, r.Time
		}
	}
	return rv, recorded, nil
}
