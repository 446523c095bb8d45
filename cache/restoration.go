package cache

import "github.com/listfacade/listfacade/internal/wire"

// Restoration is what another lane has held (Past), on its way into a lane: content, and the events behind it. Nobody
// reads any of it before Show, and nothing of it stays when that is not called. Used by one goroutine.
type Restoration struct {
	filling *Filling
	last    *State // that the events so far lead to
}

// Restore begins with the content at rv, of objects that were added; objects may come in any order, and the slice stays
// the caller's. The lane must not be ReadFromEtcd: of what it holds nothing tells how far it is complete.
func (f *Filling) Restore(rv RV, shape wire.Shape, objects []*Object) *Restoration {
	e := newEpoch(f.lane)
	base := newState(e, rv, shape, objects)
	e.history = newHistory(base, e.keep, f.lane.leaves)
	f.count(base.indexBytes())
	return &Restoration{filling: f, last: base}
}

// Apply adds the object of the next event behind the content, and takes the event as Lane.Apply does. It refuses with
// ErrOutOfOrder what is not newer than the last.
func (r *Restoration) Apply(c Change) error {
	s, rv := r.last, c.Object.RV
	if rv <= s.rv {
		return ErrOutOfOrder
	}
	r.filling.Add(c.Object)
	before, present := s.Get(c.Object.Key())
	switch {
	case c.Kind == Upsert:
		r.record(rv, before, c.Object, nil)
	case present:
		r.record(rv, before, nil, c.Object)
	default:
		r.last = s.at(rv)
		r.filling.count(-int64(c.Object.memory())) // nothing holds it
	}
	return nil
}

// record puts an event into history, and counts what that takes. Its objects are counted already.
func (r *Restoration) record(rv RV, before, now, deletion *Object) {
	h := r.last.epoch.history
	counted, indexed := h.bytes.Load(), r.last.indexBytes()
	r.last = r.last.record(rv, before, now, deletion)
	for _, o := range []*Object{before, deletion} {
		if o != nil {
			counted += int64(o.memory())
		}
	}
	r.filling.count(h.bytes.Load() - counted + r.last.indexBytes() - indexed)
}

// Show makes it the lane's, complete up to rv, all at once: readers see what the last event has led to, and nothing
// before; watches may start behind any of the events. An epoch begins with it, as with Replace. It fails with
// ErrOutOfOrder where rv is below the last event, and changes nothing then; with ErrClosed after Close. It is called
// once, and not again unless it was out of order, nor is Apply after it: what it held is the lane's.
func (r *Restoration) Show(rv RV) error {
	if r.last == nil {
		panic("BUG: cache: a restoration is shown twice")
	}
	if rv < r.last.rv {
		return ErrOutOfOrder
	}
	last := r.last
	r.last = nil
	if !r.filling.lane.begin(last.at(rv)) {
		return ErrClosed
	}
	return nil
}
