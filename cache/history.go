package cache

import (
	"sort"
	"sync/atomic"
	"time"
)

// history is an epoch's events in order, as far back as they are to be kept (retention). One writer appends; readers
// take no lock and hold no pointer into it, only positions: a sequence number counts the epoch's events from 0. So
// dropped segments are garbage at once, and a reader that comes back too late learns it (I6).
type history struct {
	keep    retention
	forgets func(*Object) // told of objects that no event has any more, nor the State

	held  atomic.Pointer[window]
	end   atomic.Int64 // the position behind the last event; stored after the event is in place
	bytes atomic.Int64
}

// window is what history holds at a time. Immutable, except that the last segment fills up.
type window struct {
	// The State just before the first event held, or behind the gap that it is in: the oldest to be served
	base        *State
	first       int64 // position of the first event held, a multiple of segmentSize
	segments    []*segment
	lostWindows []lostWindow // that were bridged and end above base, in order
}

// segmentSize is the unit in which history is dropped. It bounds how far one open segment can overshoot what is to be
// kept (64 objects of etcd's maximum of 1.5 MiB), and divides the cost of copying the list of segments.
const segmentSize = 64

type segment struct {
	entries [segmentSize]entry
	newest  time.Time // when the last event came; the writer's
	bytes   atomic.Int64
}

// entry is one event. before is nil when the object is new, now is nil when it is gone.
type entry struct {
	rv          RV // in whose order events are; what is told is told at its version
	before, now *Object
	state       *State                 // the State that the event led to, or that the gap did which it is in
	lostAfter   RV                     // behind which the gap begins that it is in, as a comparison found it; 0 in none
	tells       audience               // whom, of those whom a change from before to now concerns
	deleted     atomic.Pointer[Object] // the object of DELETED events, nil until one is needed
	charged     atomic.Int64           // what it was charged for
	notified    atomic.Int32           // how many watchers the feeds told of it, while they do
}

// object is what the event is about: as it is, or as it was before it went.
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

// audience is whom an event tells. A change inside a gap is two: one for who selected what the object was and does not
// select what it is, at the beginning of the gap, and one for the others.
type audience uint8

const (
	toAll audience = iota
	toThoseItLeaves
	toOthers
)

// version returns the RV at which the event is told. That of a DELETED inside a gap is where the gap begins: nobody
// knows its own, and who has been told of some of them goes on from there without missing the others.
func (e *entry) version() RV {
	if e.lostAfter > 0 && (e.now == nil || e.tells == toThoseItLeaves) {
		return e.lostAfter
	}
	return e.rv
}

// change is one event on its way into history. deletion is the upstream's deletion object, nil when the object lives
// on.
type change struct {
	rv                    RV
	before, now, deletion *Object
	state                 *State
	lostAfter             RV
	tells                 audience
	at                    time.Time
}

// append records one event. Trimming comes first, so that the last event is there however small the budget is.
func (h *history) append(c change) {
	h.trim(c.at)
	h.put(c)
}

// put records one event and drops none.
func (h *history) put(c change) {
	end := h.end.Load()
	w := h.held.Load()
	if end%segmentSize == 0 {
		w = &window{w.base, w.first, spliced(w.segments, len(w.segments), len(w.segments), new(segment)), w.lostWindows}
		h.held.Store(w)
	}
	seg := w.segments[len(w.segments)-1]
	e := &seg.entries[end%segmentSize]
	e.rv, e.before, e.now, e.state, e.lostAfter, e.tells = c.rv, c.before, c.now, c.state, c.lostAfter, c.tells
	e.deleted.Store(c.deletion)
	seg.newest = c.at
	e.charged.Store(e.cost())
	h.charge(seg, e.cost())
	h.end.Store(end + 1)
}

// cost is what only history keeps alive of an event, as much as it is now.
func (e *entry) cost() int64 {
	cost := int64(0)
	if e.lostAfter == 0 { // all events of a gap lead to one State
		cost = e.state.pathBytes()
	}
	for o := range e.own {
		cost += int64(o.memory())
	}
	return cost
}

// own yields the objects that go with the event.
func (e *entry) own(yield func(*Object) bool) {
	before := e.before
	if e.tells == toThoseItLeaves {
		before = nil // which the event that tells the others has, too
	}
	for _, o := range []*Object{before, e.deleted.Load()} {
		if o != nil && !yield(o) {
			return
		}
	}
}

// recharge counts an event anew whose objects were packed.
func (h *history) recharge(seq int64) {
	w := h.held.Load()
	if seq < w.first {
		return
	}
	e := w.at(seq)
	cost := e.cost()
	h.charge(w.segments[(seq-w.first)/segmentSize], cost-e.charged.Swap(cost))
}

// trim drops full segments without an event that is to be kept. The next look of a reader that stands in one finds it
// expired.
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

// clear drops everything but the last State, at the end of an epoch. A reader that is still here finds itself expired
// or reads that State.
func (h *history) clear(last *State) {
	h.held.Store(&window{base: last, first: last.seq})
	h.bytes.Store(0)
}

// dropped marks the bytes of a segment that history no longer holds, so that nothing more is charged to it.
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

// at returns the event at a position before end, nil when history no longer holds it.
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

// holds reports whether every event from a position on is held.
func (h *history) holds(seq int64) bool {
	return seq >= h.held.Load().first
}

// oldest returns the smallest RV that history can serve: what the upstream calls oldest-1 (semantics 4.1).
func (h *history) oldest() RV {
	return h.held.Load().base.rv
}

// before returns the State with the greatest RV at or below rv: the one after which a watch from rv starts, and the
// content of an Exact read at rv. The State keeps its own RV. Nobody knows the one of an RV inside a gap.
func (h *history) before(rv RV) (*State, error) {
	end := h.end.Load() // loaded before the window, which then reaches at least this far
	w := h.held.Load()
	if rv < w.base.rv {
		return nil, &ExpiredError{Requested: rv, Oldest: w.base.rv}
	}
	if g, in := lostWindowAt(w.lostWindows, rv); in {
		return nil, &ExpiredError{Requested: rv, Oldest: g.upTo}
	}
	above := sort.Search(int(max(0, end-w.first)), func(i int) bool { return w.at(w.first+int64(i)).rv > rv })
	if above == 0 {
		return w.base, nil
	}
	return w.at(w.first + int64(above) - 1).state, nil
}

// deleted returns the object of an event's DELETED: the upstream's deletion object, or the previous content under the
// event's version, made once for all watchers (semantics 4.4).
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
