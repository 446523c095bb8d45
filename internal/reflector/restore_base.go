package reflector

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/journal"
)

// base is the content of a lane at the beginning of its history, not decoded.
type base struct {
	since   time.Time         // events from this time on are not part of the base
	rv      cache.RV          // version of the content
	records map[string]stored // objects by key
	bytes   int64             // size of all payloads
	recent  []stored          // last events before since, which become history
}

// takes adds a record to the base. It returns false for an event that is not part of the base.
func (b *base) takes(record *stored) bool {
	switch {
	case record.Kind == journal.Object:
		b.put(*record)
		return true
	case !record.Time.Before(b.since):
		return false
	}
	if b.recent = append(b.recent, *record); len(b.recent) > replayedEvents {
		b.put(b.recent[0])
		b.rv = cache.RV(b.recent[0].RV)
		b.recent = b.recent[1:]
	}
	return true
}

func (b *base) put(record stored) {
	b.bytes += int64(len(record.Payload)) - int64(len(b.records[record.Key].Payload))
	if record.Kind == journal.Delete {
		b.bytes -= int64(len(record.Payload))
		delete(b.records, record.Key)
		return
	}
	b.records[record.Key] = record
}

// decode returns the objects of records. It uses all processors, because readers wait for the lane.
func (c *restored) decode(records []stored) ([]*cache.Object, error) {
	objects, workers := make([]*cache.Object, len(records)), min(runtime.GOMAXPROCS(0), len(records))
	var all errgroup.Group
	for worker := range workers {
		all.Go(func() (err error) {
			for i := worker; i < len(records) && err == nil; i += workers {
				objects[i], err = c.decodeOne(&records[i])
			}
			return err
		})
	}
	return objects, all.Wait()
}

func (c *restored) decodeOne(record *stored) (*cache.Object, error) {
	item, facts, err := c.by.reader.Stored(record.Payload, record.dictionaries)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", journal.ErrDamaged, record.Key, err)
	}
	o, err := c.by.newObject(item, &facts)
	if err == nil && (o.Key() != record.Key || uint64(o.RV) != record.RV) {
		err = fmt.Errorf("record of %s at %d contains %s at %d", record.Key, record.RV, o.Key(), o.RV)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", journal.ErrDamaged, err)
	}
	return o, nil
}
