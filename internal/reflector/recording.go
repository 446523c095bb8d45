package reflector

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// recordedAtOnce is the maximum number of events that are written together.
	recordedAtOnce = 2 * manyEvents
	// If fewer than fewEvents events are pending, they are written immediately. Otherwise they are collected until there
	// are manyEvents, or for recordBatch. In one block, successive versions of an object take a quarter of the space that
	// they take in several blocks. Collected events stay in history.
	fewEvents, manyEvents = 64, 2048
	recordBatch           = 20 * time.Second
	// recordProgress is the minimum interval between two records of a quiet lane's version.
	recordProgress = 10 * time.Second
)

// The reasons why the journal lacks events of a lane.
const (
	holeRelisted = "relisted" // the lane itself lost events, or began a new epoch
	holeBehind   = "behind"   // history dropped the events before they were written
	holeEnded    = "ended"    // the last events of a lane that ended could not be written
)

// readTail is a method of cache.Tail that reads events.
type readTail func(tail *cache.Tail, events []cache.Happened, most int) ([]cache.Happened, error)

// scratch is memory that all recordings use, one after the other.
type scratch struct {
	events  []cache.Happened
	payload []byte
}

// recording writes one lane to the journal. After an error it pauses; other lanes continue.
type recording struct {
	*scratch
	retry
	lane    *lane
	writer  *journal.Writer
	limits  journal.Limits
	by      *listWatch               // listWatch of the objects in the open segment; nil if there is no segment
	tail    cache.Tail               // position up to which events were written
	upTo    time.Time                // time of the position of tail
	told    time.Time                // time of the last progress record or checkpoint
	began   time.Time                // when the collection of events began; zero if none are collected
	version cache.RV                 // version that was last written
	numbers map[*wire.Dictionary]int // number of each dictionary in the open segment

	complete time.Time // time before which all events were written
}

// resumption is the end of the journal from which a lane was restored.
type resumption struct {
	tail  *cache.Tail
	after journal.Position // end of the journal; zero if the journal was not read to its end
	at    time.Time
}

// visit calls advance. In a pause after an error, it calls advance only if last is true. It also records the time
// before which all events were written.
func (r *recording) visit(ctx context.Context, now time.Time, last bool) (hole string, err error) {
	if r.waits(now) && !last {
		return "", nil
	}
	hole, err = r.advance(ctx, now, last)
	r.note(now, err != nil)
	if err == nil {
		r.complete = now
		if waits := r.waiting(); !waits.IsZero() {
			r.complete = waits
		}
	}
	return hole, err
}

// waiting returns the time of the oldest event that is not written; zero if there is none.
func (r *recording) waiting() time.Time {
	if r.by == nil {
		return time.Time{}
	}
	return r.tail.Waiting()
}

// advance writes pending events. Unless last is true, it may leave some of them for a later call. It begins segments
// when necessary. It returns the reason why events are missing, or an empty string.
func (r *recording) advance(ctx context.Context, now time.Time, last bool) (hole string, err error) {
	if !r.lane.isRecorded() {
		return "", nil
	}
	if _, err := r.lane.Cache.State(); errors.Is(err, cache.ErrClosed) {
		return r.finish(ctx, now)
	}
	id, by, err := r.lane.identity()
	if err != nil || by == nil {
		return "", err
	}
	switch {
	case r.by == nil:
		restored := r.lane.resumed.Load() != nil
		if err = r.begin(ctx, id, by); err == nil && restored && r.by != nil {
			err = r.catchUp(ctx, now)
		}
		return "", ignoreClosed(err)
	case r.by != by:
		hole = holeRelisted
	default:
		if r.collects(now) && !last {
			return "", nil
		}
		read := (*cache.Tail).Next
		if last {
			read = (*cache.Tail).Rest
		}
		if err = r.write(ctx, now, read); errors.Is(err, cache.ErrLost) {
			hole = holeBehind
		}
	}
	switch {
	case hole != "":
		r.by = nil // so that the hole is counted once, even if the new segment cannot be written
		err = r.begin(ctx, id, by)
	case err == nil && r.writer.Due(now, r.limits), errors.Is(err, journal.ErrNoSegment):
		err = r.renew(ctx, id)
	}
	return hole, ignoreClosed(err)
}

// finish writes the last events of a lane that has ended. It returns the reason why some of them are missing, or an
// empty string.
func (r *recording) finish(ctx context.Context, now time.Time) (hole string, err error) {
	if r.by == nil || !r.lane.isRecorded() {
		return "", nil
	}
	if err = r.write(ctx, now, (*cache.Tail).Rest); ctx.Err() != nil {
		return "", err // a later call continues
	}
	r.by = nil
	switch {
	case errors.Is(err, cache.ErrLost):
		return holeEnded, nil
	case err != nil:
		return holeEnded, err
	}
	return "", nil
}

// collects reports whether the recording waits for more events, to write more of them together.
func (r *recording) collects(now time.Time) bool {
	n := r.tail.Ready()
	switch {
	case n < fewEvents && r.began.IsZero() || n >= manyEvents:
		r.began = time.Time{}
		return false
	case r.began.IsZero():
		r.began = now
	}
	if waited := now.Sub(r.began); waited >= 0 && waited < recordBatch {
		return true
	}
	r.began = time.Time{}
	return false
}

// ignoreClosed returns nil for the error of a lane that has ended, or was not filled yet.
func ignoreClosed(err error) error {
	if errors.Is(err, cache.ErrClosed) || errors.Is(err, cache.ErrNotReady) {
		return nil
	}
	return err
}

// begin starts a segment. It continues the previous segment only if the lane was restored from that segment.
func (r *recording) begin(ctx context.Context, id journal.Identity, by *listWatch) error {
	start := journal.Start{Identity: id, Time: time.Now()}
	tail, state, err := r.lane.Cache.Tail()
	if resumed := r.lane.resumed.Load(); err == nil && resumed != nil {
		before, lost := resumed.tail.State()
		if lost == nil {
			tail, state, start.Time, start.After = resumed.tail, before, resumed.at, resumed.after
		}
	}
	switch {
	case err != nil:
		return err
	case r.lane.synced.Load() != by:
		return nil // the lane is being listed again
	}
	if err := r.checkpoint(ctx, start, state); err != nil {
		return err
	}
	r.lane.resumed.Store(nil)
	r.by, r.tail, r.upTo = by, *tail, start.Time
	return nil
}

// catchUp writes all that a restored lane has received since the end of its journal. If the process is killed soon, the
// next process continues after these events. Otherwise it would begin at the old end of the journal, like this process.
// After several such processes, the upstream would no longer have the events.
func (r *recording) catchUp(ctx context.Context, now time.Time) error {
	if err := r.write(ctx, now, (*cache.Tail).Rest); !errors.Is(err, cache.ErrLost) {
		return err
	}
	return nil // the next visit finds the same loss
}

// renew writes a segment that continues the open segment.
func (r *recording) renew(ctx context.Context, id journal.Identity) error {
	state, err := r.tail.State()
	if err != nil {
		return nil //nolint:nilerr // the next visit finds the same error
	}
	return r.checkpoint(ctx, journal.Start{Identity: id, Time: r.upTo, After: r.writer.Position()}, state)
}

// checkpoint begins a segment with the objects of a State.
func (r *recording) checkpoint(ctx context.Context, start journal.Start, state *cache.State) error {
	shape := state.Shape()
	start.RV, start.Columns = uint64(state.RV()), shape.Columns()
	start.Bookmark = r.bookmark(shape, start)
	numbers := map[*wire.Dictionary]int{}
	err := r.writer.Begin(ctx, start, func(yield func(journal.Record) bool) {
		for o := range state.Objects(cache.Span{}) {
			if !r.put(journal.Record{Kind: journal.Object}, o, numbers, yield) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	r.numbers, r.version, r.told = numbers, state.RV(), start.Time
	return nil
}

// bookmark returns the lane's bookmark in the format of an upstream frame.
func (r *recording) bookmark(shape wire.Shape, of journal.Start) []byte {
	representation := wire.Representation{Kind: wire.Whole}
	if strings.Contains(of.Accept, "as=Table") {
		representation = wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeObject}
	}
	end := shape.WithResourceVersion(&r.lane.Bookmark().InitialEventsEnd, cache.RV(of.RV).String())
	return shape.Framer(representation).AppendInitialEventsEnd(nil, &end)
}

// write appends the events after the tail's position, and advances this position after each batch.
func (r *recording) write(ctx context.Context, now time.Time, read readTail) (err error) {
	defer func() { clear(r.events[:cap(r.events)]) }() // the buffer must not keep objects in memory
	for {
		at := r.tail
		if r.events, err = read(&at, r.events[:0], recordedAtOnce); err != nil {
			return err
		}
		if by := r.lane.synced.Load(); by != r.by && by != nil {
			return nil // some of the events may be of a later list
		}
		if err := r.append(ctx, now, at.RV()); err != nil {
			return err
		}
		r.tail = at
		if len(r.events) < recordedAtOnce {
			return nil
		}
	}
}

// append writes events. If no progress was written for recordProgress, it also writes the version that the lane has
// reached.
func (r *recording) append(ctx context.Context, now time.Time, rv cache.RV) error {
	records := batch{events: r.events, version: r.version, upTo: r.upTo}
	if n := len(r.events); n > 0 {
		records.version, records.upTo = r.events[n-1].Object.RV, r.events[n-1].At
	}
	if rv > records.version && (now.Sub(r.told) >= recordProgress || now.Before(r.told)) {
		records.version, records.upTo, records.progress = rv, now, true
	}
	if records.version == r.version {
		return nil
	}
	before := len(r.numbers)
	if err := r.writer.Append(ctx, r.records(records)); err != nil {
		for d, number := range r.numbers { // these dictionaries were not written
			if number > before {
				delete(r.numbers, d)
			}
		}
		return err
	}
	r.version, r.upTo = records.version, records.upTo
	if records.progress {
		r.told = now
	}
	return nil
}

// batch contains events, and the version and time after the last one.
type batch struct {
	events   []cache.Happened
	version  cache.RV
	upTo     time.Time
	progress bool // whether the version has a record of its own
}

func (r *recording) records(of batch) iter.Seq[journal.Record] {
	return func(yield func(journal.Record) bool) {
		for i := range of.events {
			e, record := &of.events[i], journal.Record{Kind: journal.Upsert}
			if e.Kind == cache.Delete {
				record.Kind = journal.Delete
			}
			record.Time = e.At
			if !r.put(record, e.Object, r.numbers, yield) {
				return
			}
		}
		if of.progress {
			yield(journal.Record{Kind: journal.Progress, RV: uint64(of.version), Time: of.upTo})
		}
	}
}

// put yields the record of an object. If the object's dictionary is new, put yields the record of the dictionary first.
func (r *recording) put(record journal.Record, o *cache.Object, numbers map[*wire.Dictionary]int,
	yield func(journal.Record) bool) bool {
	item, number := o.Item(), 0
	if d := wire.DictionaryOf(item); d != nil {
		if number = numbers[d]; number == 0 {
			number = len(numbers) + 1
			numbers[d] = number
			if !yield(journal.Record{Kind: journal.Dictionary, Payload: d.AppendStored(nil), Plain: true}) {
				return false
			}
		}
	}
	r.payload = wire.AppendStored(r.payload[:0], item, number)
	record.RV, record.Key, record.Payload, record.Plain = uint64(o.RV), o.Key(), r.payload, number == 0
	return yield(record)
}
