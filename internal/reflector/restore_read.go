package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// replayedEvents is the number of older events that become history together with those of the history window.
	// kube-apiserver also keeps its last 100 events, however old they are (semantics 4.1).
	replayedEvents = 128
	decodedAtOnce  = 1024
)

// restored is the content of a lane that was read from the journal. Only adopt makes it the content of the lane. To
// release its memory, call filling.Drop.
//
// Of the events before the history, only the last one of each object is decoded. These events and the unchanged objects
// make up the base. The later events become the history.
type restored struct {
	by       *listWatch
	filling  *cache.Filling
	shape    wire.Shape // including the columns
	columns  []byte
	bookmark wire.Bookmark
	marked   bool // whether the upstream had sent a bookmark
	admit    func(bytes int64) error
	admitted int64  // bytes for which admit was last called
	moved    func() // called after every decodedAtOnce records
	records  int

	dictionaries []*wire.Dictionary          // of the segment that is being read
	known        map[string]*wire.Dictionary // all dictionaries, by their stored form: segments repeat them
	base         *base                       // nil after endBase
	past         *cache.Restoration          // nil before endBase
	rv           cache.RV                    // version after the last event or progress
	until        time.Time                   // time at which rv was recorded
	waiting      []stored                    // records that are decoded together
	end          journal.Position            // end of the journal; zero if it was not read to the end
}

// stored is a record that has not been decoded.
type stored struct {
	journal.Record
	dictionaries []*wire.Dictionary // dictionaries of its segment
}

// newRestored returns an empty restored. admit returns an error if the given number of bytes does not fit into memory.
func newRestored(e *epoch, id journal.Identity, lane *cache.Lane, admit func(int64) error) (*restored, error) {
	c := &restored{
		by: e.listWatch, shape: e.shape, columns: id.Columns, marked: id.Marked, filling: lane.Fill(),
		admit: admit, moved: func() {},
		base: &base{records: map[string]stored{}}, known: map[string]*wire.Dictionary{},
	}
	var err error
	if len(id.Columns) > 0 {
		if c.shape, err = c.shape.WithColumns(id.Columns); err != nil {
			return nil, fmt.Errorf("%w: %w", journal.ErrDamaged, err)
		}
	}
	frame, err := c.by.framing.Reader(bytes.NewReader(id.Bookmark), wire.FrameLimit).Next()
	if err == nil {
		c.bookmark, err = c.by.reader.Bookmark(frame)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: bookmark: %w", journal.ErrDamaged, err)
	}
	return c, nil
}

// read reads segments that continue each other. Events since the given time become history. If a file is damaged after
// the objects of the first checkpoint, the content ends there, and the lane receives the rest from the upstream.
func (c *restored) read(ctx context.Context, run []journal.Segment, since time.Time) error {
	c.rv, c.base.since = cache.RV(run[0].RV), since
	c.base.rv = c.rv
	for i := range run {
		c.dictionaries, c.until = nil, run[i].Time
		if i > 0 && !run[i].Same(&run[i-1].Identity) {
			return fmt.Errorf("%w: the next segment does not match", journal.ErrDamaged)
		}
		records := run[i].Records(ctx)
		if i > 0 {
			records = run[i].Events(ctx, run[i].RV)
		}
		objects := 0
		for record, err := range records {
			if errors.Is(err, journal.ErrDamaged) && (i > 0 || objects == run[0].Objects) {
				return c.finish(ctx, journal.Position{})
			} else if err != nil {
				return err
			}
			if record.Kind == journal.Object {
				objects++
			}
			if err := c.take(&record); err != nil {
				return err
			}
		}
	}
	return c.finish(ctx, run[len(run)-1].End)
}

func (c *restored) take(record *journal.Record) error {
	if c.records++; c.records%decodedAtOnce == 0 {
		c.moved()
	}
	switch record.Kind {
	case journal.Dictionary:
		return c.takeDictionary(record.Payload)
	case journal.Progress:
		c.marked = true // only bookmarks advance a lane without an event
		c.until = record.Time
		c.progress(cache.RV(record.RV))
		return c.look()
	default: // an object or an event
	}
	if record.Kind != journal.Object && cache.RV(record.RV) <= c.rv {
		return fmt.Errorf("%w: event at %d follows %d", journal.ErrDamaged, record.RV, c.rv)
	}
	if record.Kind != journal.Object {
		c.rv, c.until = cache.RV(record.RV), record.Time
	}
	kept := stored{*record, c.dictionaries}
	kept.Payload = append([]byte(nil), record.Payload...)
	if c.base != nil && c.base.takes(&kept) {
		return c.look()
	}
	if err := c.endBase(); err != nil {
		return err
	}
	return c.apply(kept)
}

func (c *restored) progress(rv cache.RV) {
	c.rv = max(c.rv, rv)
	if c.base != nil && len(c.base.recent) == 0 {
		c.base.rv = c.rv
	}
}

// takeDictionary reads a dictionary for the next records of the segment. Earlier records keep their dictionaries.
func (c *restored) takeDictionary(stored []byte) (err error) {
	d := c.known[string(stored)]
	if d == nil {
		if d, err = wire.ReadDictionary(stored); err != nil {
			return fmt.Errorf("%w: %w", journal.ErrDamaged, err)
		}
		c.known[string(stored)] = d
	}
	c.dictionaries = append(c.dictionaries, d)
	c.filling.Adopt(d)
	return nil
}

// endBase makes the objects of the base the first State of the history.
func (c *restored) endBase() error {
	b := c.base
	if b == nil {
		return nil
	}
	c.base = nil
	objects, err := c.decodeBase(b)
	if err != nil {
		return err
	}
	c.past = c.filling.Restore(b.rv, c.shape, objects)
	for _, event := range b.recent {
		if err := c.apply(event); err != nil {
			return err
		}
	}
	return nil
}

func (c *restored) decodeBase(b *base) ([]*cache.Object, error) {
	objects, some := make([]*cache.Object, 0, len(b.records)), make([]stored, 0, decodedAtOnce)
	decode := func() error {
		decoded, err := c.decode(some)
		if err != nil {
			return err
		}
		for _, o := range decoded {
			if o.RV > b.rv {
				return fmt.Errorf("%w: %s has resourceVersion %d, which is higher than the list's %d",
					journal.ErrDamaged, o.Key(), o.RV, b.rv)
			}
			c.filling.Add(o)
		}
		objects, some = append(objects, decoded...), some[:0]
		return c.look()
	}
	for key, record := range b.records {
		delete(b.records, key)
		b.bytes -= int64(len(record.Payload))
		if some = append(some, record); len(some) == decodedAtOnce {
			if err := decode(); err != nil {
				return nil, err
			}
		}
	}
	return objects, decode()
}

// apply collects events, and adds decodedAtOnce of them to the history at a time.
func (c *restored) apply(event stored) error {
	if c.waiting = append(c.waiting, event); len(c.waiting) < decodedAtOnce {
		return nil
	}
	return c.flush()
}

func (c *restored) flush() error {
	events := c.waiting
	c.waiting = c.waiting[:0]
	objects, err := c.decode(events)
	if err != nil {
		return err
	}
	now := time.Now()
	for i, o := range objects {
		change := cache.Change{Kind: cache.Upsert, Object: o}
		if events[i].Kind == journal.Delete {
			change.Kind = cache.Delete
		}
		at := events[i].Time
		if at.After(now) {
			at = now // the clock went back
		}
		if err := c.past.Apply(change, at); err != nil {
			return fmt.Errorf("%w: %w", journal.ErrDamaged, err)
		}
	}
	return c.look()
}

func (c *restored) finish(ctx context.Context, end journal.Position) error {
	if err := c.endBase(); err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	c.end = end
	return context.Cause(ctx)
}

// look calls admit when the content has grown by lookEvery bytes, and returns the error of admit.
func (c *restored) look() error {
	bytes := c.filling.Memory()
	if c.base != nil {
		bytes += c.base.bytes
	}
	if bytes-c.admitted < lookEvery {
		return nil
	}
	c.admitted = bytes
	return c.admit(bytes)
}
