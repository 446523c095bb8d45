package cache

import (
	"sort"
	"sync/atomic"
	"time"
)

// history keeps an epoch's events in order, for as long as keep (retention) says. A position is the number of earlier
// events of the epoch. One writer appends. Readers take no lock and keep only positions. Dropped segments are therefore
// garbage immediately, and a late reader finds its position expired (I6).
type history struct {
	keep    retention
	forgets func(*Object) // called for each object that neither an event nor the State contains any more

	held  atomic.Pointer[window]
	end   atomic.Int64 // position after the last event; stored after the event is in place
	bytes atomic.Int64
}

type window struct {
	// oldest State to serve: the State before the first event, or after the lost window that the first event is in
	base        *State
	first       int64 // position of the first event, a multiple of segmentSize
	segments    []*segment
	lostWindows []lostWindow // replayed windows that end above base, in order
}

// segmentSize is the number of events that history drops together. Larger segments make copies of the list of segments
// rarer, but history then keeps more events than the retention requires.
const segmentSize = 64

// segment is a piece of history. In a compressed list, "segment" has another meaning (segment.go).
type segment struct {
	entries [segmentSize]entry
	newest  time.Time // time of the last event; for the writer only
	bytes   atomic.Int64
	values  [maxValueSets]atomic.Pointer[valueSet] // sets of values, in the order in which watches first needed them
}

type entry struct {
	rv          RV // RV that orders the events; watchers receive the event at version()
	before, now *Object
	state       *State                 // State after the event, or after the lost window that the event is in
	lostAfter   RV                     // RV where the event's lost window begins; 0 if the event is in none
	deleted     atomic.Pointer[Object] // object that watchers receive with DELETED; nil until a watcher needs it
	charged     atomic.Int64           // bytes of the event in history.bytes
	at          int64                  // time of the event, in milliseconds since 1970
	notified    atomic.Int32           // number of watchers that the feeds have notified of the event
	audience    audience
}

func (e *entry) object() *Object {
	if e.now != nil {
		return e.now
	}
	return e.before
}

func newHistory(base *State, keep retention, forgets func(*Object)) *history {
	h := &history{keep: keep, forgets: forgets}
	h.held.Store(&window{base: base})
	return h
}

// audience says which watchers receive an event. A change inside a lost window may be two events. Predicates that
// select the object only before the change get a deletion where the window begins. All others get the change itself.
type audience uint8

const (
	toAll audience = iota
	toFormerSelectors
	toOtherSelectors
)

// version returns the RV at which watchers receive the event. A DELETED inside a lost window comes at the RV where the
// window begins, because its own RV is unknown. A client that received only some of these deletions then resumes at
// that RV and receives the others.
func (e *entry) version() RV {
	if e.lostAfter > 0 && (e.now == nil || e.audience == toFormerSelectors) {
		return e.lostAfter
	}
	return e.rv
}

// change is one event to append. deletion is the upstream's deletion object, nil if the object was not deleted.
type change struct {
	rv                    RV
	before, now, deletion *Object
	state                 *State
	lostAfter             RV
	audience              audience
	at                    time.Time
}

// append drops old events and then records one event. In this order, the new event remains even if the budget is small.
func (h *history) append(c change) {
	h.trim(c.at)
	h.put(c)
}

// put records one event without dropping others.
func (h *history) put(c change) {
	end := h.end.Load()
	w := h.held.Load()
	if end%segmentSize == 0 {
		w = &window{w.base, w.first, spliced(w.segments, len(w.segments), len(w.segments), new(segment)), w.lostWindows}
		h.held.Store(w)
	}
	seg := w.segments[len(w.segments)-1]
	e := &seg.entries[end%segmentSize]
	e.rv, e.before, e.now, e.state, e.lostAfter, e.audience = c.rv, c.before, c.now, c.state, c.lostAfter, c.audience
	e.deleted.Store(c.deletion)
	e.at, seg.newest = c.at.UnixMilli(), c.at
	e.charged.Store(e.cost())
	h.charge(seg, e.cost())
	h.end.Store(end + 1)
}

// cost returns the bytes that only history keeps alive for the event.
func (e *entry) cost() int64 {
	cost := int64(0)
	if e.lostAfter == 0 { // all events of a lost window lead to one State
		cost = e.state.pathBytes()
	}
	for o := range e.own {
		cost += int64(o.memory())
	}
	return cost
}

// own yields the objects that are freed when history drops the event.
func (e *entry) own(yield func(*Object) bool) {
	before := e.before
	if e.audience == toFormerSelectors {
		before = nil // freed with the change's second event, toOtherSelectors
	}
	for _, o := range []*Object{before, e.deleted.Load()} {
		if o != nil && !yield(o) {
			return
		}
	}
}

func (h *history) recharge(seq int64) {
	w := h.held.Load()
	if seq < w.first {
		return
	}
	e := w.at(seq)
	cost := e.cost()
	h.charge(w.segments[(seq-w.first)/segmentSize], cost-e.charged.Swap(cost))
}

// trim drops the oldest full segments, as long as h.keep keeps none of their events.
func (h *history) trim(now time.Time) { h.trimTo(h.keep, now) }

func (h *history) trimTo(keep retention, now time.Time) {
	w := h.held.Load()
	drop, end := 0, h.end.Load()
	for drop < len(w.segments) {
		seg, behind := w.segments[drop], end-w.first-int64(drop+1)*segmentSize
		if behind < 0 || keep.keeps(now.Sub(seg.newest), behind, h.bytes.Load()) {
			break
		}
		h.bytes.Add(-seg.bytes.Swap(dropped))
		for i := range seg.entries {
			seg.entries[i].own(func(o *Object) bool { h.forgets(o); return true })
		}
		drop++
	}
	if drop == 0 {
		return
	}
	base := w.segments[drop-1].entries[segmentSize-1].state
	rest := spliced(w.segments, 0, drop)
	h.held.Store(&window{base, w.first + int64(drop)*segmentSize, rest, lostWindowsAbove(w.lostWindows, base.rv)})
}

// clear drops everything but the last State, at the end of an epoch.
func (h *history) clear(last *State) {
	h.held.Store(&window{base: last, first: last.seq})
	h.bytes.Store(0)
}

// dropped marks the bytes of a segment that history has dropped. charge adds nothing to such a segment.
const dropped = -1 << 62

func (h *history) charge(seg *segment, cost int64) {
	for {
		bytes := seg.bytes.Load()
		if bytes == dropped {
			return
		}
		if seg.bytes.CompareAndSwap(bytes, bytes+cost) {
			h.bytes.Add(cost)
			return
		}
	}
}

// at returns the event at a position before end, or nil when history has dropped it.
func (h *history) at(seq int64) *entry {
	w := h.held.Load()
	if seq < w.first {
		return nil
	}
	return w.at(seq)
}

func (w *window) at(seq int64) *entry {
	i := seq - w.first
	return &w.segments[i/segmentSize].entries[i%segmentSize]
}

func (h *history) holds(seq int64) bool {
	return seq >= h.held.Load().first
}

// oldest returns the smallest RV that history can serve. It corresponds to oldest-1 in kube-apiserver's watch cache
// (semantics 4.1).
func (h *history) oldest() RV {
	return h.held.Load().base.rv
}

// before returns the newest State at or below rv. A watch from rv starts after this State, and an Exact read at rv has
// its content. It returns *ExpiredError for an rv below the window or inside a lost window.
func (h *history) before(rv RV) (*State, error) {
	end := h.end.Load() // loaded before the window, which then reaches at least to this position
	w := h.held.Load()
	if rv < w.base.rv {
		return nil, &ExpiredError{Requested: rv, Oldest: w.base.rv}
	}
	if lost, in := lostWindowAt(w.lostWindows, rv); in {
		return nil, &ExpiredError{Requested: rv, Oldest: lost.upTo}
	}
	above := sort.Search(int(max(0, end-w.first)), func(i int) bool { return w.at(w.first+int64(i)).rv > rv })
	if above == 0 {
		return w.base, nil
	}
	return w.at(w.first + int64(above) - 1).state, nil
}

// deleted returns the object that watchers receive with DELETED for an event. It is the upstream's deletion object, or
// the previous content at the event's version (semantics 4.4). All watchers receive the same object.
func (h *history) deleted(seq int64, e *entry) *Object {
	if o := e.deleted.Load(); o != nil {
		return o
	}
	o := e.before.at(e.version(), e.state.shape)
	if !e.deleted.CompareAndSwap(nil, o) {
		return e.deleted.Load()
	}
	if w := h.held.Load(); seq >= w.first {
		cost := int64(o.memory())
		e.charged.Add(cost)
		h.charge(w.segments[(seq-w.first)/segmentSize], cost)
	}
	return o
}
