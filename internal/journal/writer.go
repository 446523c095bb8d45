package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"
)

const (
	// For a segment with at most leastEvents bytes of events, Due considers only the age of the segment.
	leastEvents = 4 << 20
	// eventsPerCheckpoint is the ratio of a segment's events to its checkpoint, in bytes, at which the segment ends.
	eventsPerCheckpoint = 8
	// segmentsPerLimit divides the limits on bytes and age. A segment usually ends at the quotient, so that Retain removes
	// a small part of the journal at a time.
	segmentsPerLimit = 8
)

// Writer writes the segments of one lane. Not safe for concurrent use; writers of several lanes are independent.
type Writer struct {
	journal *Journal
	dir     string
	current *output // nil if no segment is open
}

// Begin begins a segment with a checkpoint: the objects at start.RV, with the dictionaries that they need. It then
// closes the previous segment. If Begin fails, the previous segment stays open and no new one exists. It returns the
// context's cause if the context ends first.
func (w *Writer) Begin(ctx context.Context, start Start, objects iter.Seq[Record]) error {
	name, err := w.journal.next(w.dir)
	if err != nil {
		return err
	}
	path := filepath.Join(w.dir, fileName(name))
	partial := filepath.Join(w.dir, "."+fileName(name))
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	next, err := w.checkpoint(ctx, partial, name, start, objects)
	if err == nil {
		if err = os.Rename(partial, path); err != nil {
			_ = next.file.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("begin segment: %w", errors.Join(err, ignoreMissing(os.Remove(partial))))
	}
	_ = w.end() // a segment without an end block is valid
	w.current = next
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// checkpoint writes the start and the checkpoint of a segment to a new file. After an error, it closes the file.
func (w *Writer) checkpoint(ctx context.Context, path string, sequence uint64, start Start,
	objects iter.Seq[Record]) (o *output, err error) {
	file, err := w.journal.create(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	b := w.journal.builder()
	defer w.journal.release(b)
	if o, err = newOutput(file, sequence, start, b); err != nil {
		return nil, err
	}
	if err := o.write(ctx, objectsBlock, objects, b); err != nil {
		return nil, err
	}
	if err := o.mark(completeBlock, b); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	o.checkpoint = o.size
	return o, context.Cause(ctx)
}

// Append appends records to the open segment, without a sync. They are events and progress, which must not go back in
// resourceVersion, and the dictionaries that they need. If Append fails, it removes the records that it wrote. The
// caller may then call Append again with the same records, or Begin. If the removal fails, too, Append closes the
// segment. Append returns the context's cause if the context ends first, and ErrNoSegment if no segment is open.
func (w *Writer) Append(ctx context.Context, records iter.Seq[Record]) error {
	if w.current == nil {
		return ErrNoSegment
	}
	b := w.journal.builder()
	defer w.journal.release(b)
	next := *w.current
	err := next.write(ctx, eventsBlock, records, b)
	if err == nil {
		*w.current = next
		return nil
	}
	if cut := w.current.file.Truncate(w.current.size); cut != nil {
		_ = w.current.file.Close() // its tail is unknown, so nothing may be written after it
		w.current = nil
		err = errors.Join(err, cut)
	}
	return fmt.Errorf("append to segment: %w", err)
}

// Position returns the end of the open segment. It is zero if no segment is open.
func (w *Writer) Position() Position {
	if w.current == nil {
		return Position{}
	}
	return Position{w.current.sequence, w.current.id, w.current.size}
}

// Due reports whether the lane needs a new segment: none is open, or the open one is full. A segment is full if its
// events take much more space than its checkpoint, or if the segment has reached its part of a limit.
func (w *Writer) Due(now time.Time, limits Limits) bool {
	o := w.current
	if o == nil {
		return true
	}
	events, most := o.size-o.checkpoint, max(leastEvents, eventsPerCheckpoint*o.checkpoint)
	if limits.Bytes > 0 {
		most = min(most, max(leastEvents, limits.Bytes/segmentsPerLimit))
	}
	return events > most || limits.Age > 0 && events > 0 && now.Sub(o.began) > limits.Age/segmentsPerLimit
}

// Close closes the open segment, if any. Retain may then remove all segments of the lane. The caller may call Begin
// again.
func (w *Writer) Close() error {
	err := w.end()
	w.journal.leave(w.dir)
	return err
}

func (w *Writer) end() error {
	o := w.current
	if o == nil {
		return nil
	}
	w.current = nil
	b := w.journal.builder()
	defer w.journal.release(b)
	return errors.Join(o.mark(endBlock, b), o.file.Close())
}
