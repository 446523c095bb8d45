package cache

import (
	"time"

	"github.com/listfacade/listfacade/internal/wire"
)

// Restoration builds a lane's content from the past of another lane: first the content at an RV, then the later events.
// Readers see the content only after Show. If Show is not called, Filling.Drop discards it. A Restoration is used by
// one goroutine.
type Restoration struct {
	filling *Filling
	last    *State // State after the events so far
}

// Restore starts a Restoration with the content at rv. The objects must have been added to f; they may be in any order,
// and the caller keeps the slice. The lane must not be ReadFromEtcd, because then the RV up to which the content is
// complete is unknown.
func (f *Filling) Restore(rv RV, shape wire.Shape, objects []*Object) *Restoration {
	e := newEpoch(f.lane)
	base := newState(e, rv, shape, objects)
	e.history = newHistory(base, e.keep, f.lane.leaves)
	f.count(base.indexBytes())
	return &Restoration{filling: f, last: base}
}

// Apply adds the object of the next event and applies the event, as Lane.Apply does. History drops events that are too
// old at the time of this event. It returns ErrOutOfOrder for an event that is not newer than the last.
func (r *Restoration) Apply(c Change, at time.Time) error {
	s, rv := r.last, c.Object.RV
	if rv <= s.rv {
		return ErrOutOfOrder
	}
	r.filling.Add(c.Object)
	before, present := s.Get(c.Object.Key())
	switch {
	case c.Kind == Upsert:
		r.record(change{rv: rv, before: before, now: c.Object, at: at})
	case present:
		r.record(change{rv: rv, before: before, deletion: c.Object, at: at})
	default:
		r.last = s.at(rv)
		r.filling.count(-int64(c.Object.memory())) // neither the State nor history contains the object
	}
	return nil
}

// record appends an event to history and counts its memory. Filling.Add has already counted the event's objects.
func (r *Restoration) record(c change) {
	h := r.last.epoch.history
	counted, indexed := h.bytes.Load(), r.last.indexBytes()
	r.last = r.last.record(c)
	for _, o := range []*Object{c.before, c.deletion} {
		if o != nil {
			counted += int64(o.memory())
		}
	}
	r.filling.count(h.bytes.Load() - counted + r.last.indexBytes() - indexed)
}

// Objects yields the objects after the last event, in key order.
func (r *Restoration) Objects(yield func(*Object) bool) { r.last.Objects(Span{})(yield) }

// Show makes the restored content the content of the lane, complete up to rv, and starts a new epoch, as Replace does.
// Readers see the State after the last event; watches may start after any event in history. It returns ErrOutOfOrder
// when rv is below the last event, and then changes nothing. It returns ErrClosed after Close. Unless it returned
// ErrOutOfOrder, the Restoration must not be used again.
func (r *Restoration) Show(rv RV) error {
	if r.last == nil {
		panic("BUG: cache: second call of Restoration.Show")
	}
	if rv < r.last.rv {
		return ErrOutOfOrder
	}
	last := r.last
	r.last = nil
	r.filling.judge()
	if !r.filling.lane.begin(last.at(rv)) {
		return ErrClosed
	}
	return nil
}
