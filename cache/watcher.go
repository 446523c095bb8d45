package cache

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/listfacade/listfacade/selectors"
)

// Watcher is one subscription: a cursor that moves through a State's objects (only with InitialEvents), then through
// history up to where it joined its feed, then through the feed. It has no queue; who reads slowly just has an older
// cursor (I8), until history no longer holds its place.
//
// A Watcher belongs to one goroutine, which loops:
//
//	for {
//		event, ok := w.Next()
//		if ok { ...; continue }
//		if err := w.Err(); err != nil { ... }
//		select { case <-w.Wait(): ... }
//	}
type Watcher struct {
	epoch     *epoch
	predicate *selectors.Predicate

	snapshot    *State // whose objects are the initial events; nil when there are none, or none are left
	initial     cursor
	vain        int   // objects that were looked at and are no initial events
	seq         int64 // the position in history of the next event to look at
	joined      int64 // the position up to which history is read by the watcher itself; the feed has the rest
	skip        RV    // events up to it are dropped: they were to come when the watch started behind them
	ahead       bool  // it started at skip, and the lane was not seen to have come there
	exact       bool  // it ends at a gap that is bridged
	lostWindows int64 // how many gaps of the epoch it knows not to be concerned by
	endOfReplay RV    // the end of the gap that the last event was one of; 0 when it was of none
	feed        *feed
	cursor      feedCursor

	seen     RV // RV of the last event returned
	progress RV
	err      error
	closed   atomic.Bool

	// What others may ask for while the watch goes on (Position, Behind).
	notified atomic.Uint64 // the RV that the watcher has got to
	replay   atomic.Int64  // events of history that it has still to look at by itself
	passed   atomic.Int64  // entries of its feed that it has looked at
}

// Next returns the next event. It does not block: false says that there is none now, or that the watch has ended
// (Err).
func (w *Watcher) Next() (Event, bool) {
	if w.err != nil || w.closed.Load() {
		return Event{}, false
	}
	// Loaded before looking for events. Whatever was declared complete by now is in history or in the feed
	// already, so finding nothing left below proves that every matching event up to here was returned (I4).
	complete := RV(w.feed.follower.complete.Load())
	event, ok := w.look()
	switch {
	case w.err != nil:
	case w.crosses(complete): // looked at after the event and complete: whichever is of a gap, the gap is seen here
		return w.lose()
	case ok:
		w.seen = event.RV
	case w.endOfReplay > 0: // before its end nothing is complete
		w.progress = max(w.progress, complete)
	default:
		// A feed may have an event that is not declared complete yet: what was returned counts too.
		w.progress = max(w.progress, complete, w.epoch.wholeAt(w.seen))
	}
	w.notified.Store(uint64(w.position()))
	return event, ok
}

// Position returns the RV of the last event that Next returned, or, where it had nothing left, the RV that this was
// true at. It is safe for concurrent use.
func (w *Watcher) Position() uint64 { return w.notified.Load() }

// Behind returns about how many events Next has not returned yet that are there, initial events not counted. Those of
// history from before the watch began count whether they are selected or not. It is safe for concurrent use.
func (w *Watcher) Behind() int64 {
	passed := w.passed.Load() // before those that were offered, which grow
	return max(w.feed.offered()-passed, 0) + w.replay.Load()
}

// crosses tells whether the watch cannot go on over a gap that was bridged, and if so ends it: an exact one, and one
// that started at an RV inside the gap, before it was known to be one. That knows objects that came into being in the
// gap, and nobody knows what became of them.
func (w *Watcher) crosses(complete RV) bool {
	if lost := w.epoch.lostWindows.Load(); lost != w.lostWindows {
		w.lostWindows = lost
		_, in := w.epoch.history.lostWindowAt(w.skip)
		_, met := w.epoch.history.lastLostWindow(max(w.position(), w.skip))
		if w.exact && met || w.ahead && (in || w.skip < w.epoch.history.oldest()) {
			w.err = &ExpiredError{Requested: max(w.position(), w.skip), Oldest: w.epoch.newest.Load().rv}
			return true
		}
	}
	w.ahead = w.ahead && complete < w.skip
	return false
}

// EndOfReplay returns the RV at the end of the gap that the last event was one of, unless it was at that RV; 0 when it
// was of none. A client that is told nothing more could not watch on from there, or would be told of the gap again, so
// it is owed a bookmark as soon as Progress is at EndOfReplay.
func (w *Watcher) EndOfReplay() RV {
	if w.seen >= w.endOfReplay {
		return 0
	}
	return w.endOfReplay
}

// NextInitial returns the next of the initial events as a run of objects that are all ADDED. It is for who can send
// many at a time; false says that Next is to be asked: there are no more, or not every object is one of them, or the
// watch has ended.
func (w *Watcher) NextInitial() (Run, bool) {
	over := w.err != nil || w.closed.Load() || !w.epoch.history.holds(w.seq)
	if over || w.snapshot == nil || w.initial.done() || !w.predicate.Everything() {
		return Run{}, false
	}
	if w.predicate.Namespace() != "" {
		return w.initial.nextSegment(), true
	}
	return w.initial.nextRun(), true
}

func (w *Watcher) look() (Event, bool) {
	if w.snapshot != nil {
		return w.nextInitial()
	}
	if event, ok := w.nextReplayed(); ok || w.err != nil {
		return event, ok
	}
	return w.nextFed()
}

// nextInitial returns an event unless it finds that the watch could not go on behind the initial events.
func (w *Watcher) nextInitial() (Event, bool) {
	if !w.epoch.history.holds(w.seq) {
		return w.lose()
	}
	for !w.initial.done() {
		if o := w.initial.next(); w.predicate.Matches(&o.Attributes) {
			return Event{Type: Added, Object: o, RV: o.RV}, true
		}
		w.vain++
	}
	if w.initial.tree == &w.snapshot.objects {
		w.epoch.indexer.missed(w.snapshot, w.predicate, w.vain)
	}
	rv := w.snapshot.rv
	w.snapshot, w.initial = nil, cursor{}
	return Event{Type: InitialEventsEnd, RV: rv}, true
}

// nextReplayed reads history until the place where the feed takes over.
func (w *Watcher) nextReplayed() (Event, bool) {
	for w.seq < w.joined {
		seq := w.seq
		e := w.epoch.history.at(seq)
		if e == nil {
			return w.lose()
		}
		w.seq++
		w.replay.Store(w.joined - w.seq)
		if t, ok := e.meaning(w.predicate); ok && e.rv > w.skip {
			return w.event(t, seq, e), true
		}
	}
	return Event{}, false
}

func (w *Watcher) nextFed() (Event, bool) {
	for {
		next, ok := w.cursor.next()
		if !ok {
			return Event{}, false
		}
		w.passed.Store(w.cursor.passed())
		if next.seq() < w.seq { // the State that the watch started from was ahead of the feed, or history had it already
			continue
		}
		e := w.epoch.history.at(next.seq())
		if e == nil {
			return w.lose()
		}
		w.seq = next.seq() + 1
		if e.rv > w.skip {
			return w.event(next.kind(), next.seq(), e), true
		}
	}
}

func (w *Watcher) event(t EventType, seq int64, e *entry) Event {
	w.endOfReplay = 0
	if e.lostAfter > 0 {
		w.endOfReplay = e.state.rv
	}
	if t == Deleted {
		return Event{Type: t, Object: w.epoch.history.deleted(seq, e), RV: e.version()}
	}
	return Event{Type: t, Object: e.now, RV: e.rv}
}

// Wait returns a channel that is closed when Next may have more to say or the watch has ended.
func (w *Watcher) Wait() <-chan struct{} {
	grown := w.feed.grown.armed()
	if w.Err() != nil || w.snapshot != nil || w.seq < w.joined || w.cursor.pending() || w.lostWindows != w.epoch.lostWindows.Load() {
		return fired
	}
	return grown
}

// Err returns why the watch ended: *ExpiredError when history lost its place or a relist began a new epoch, io.EOF
// after Lane.Close or Close. It is nil while the watch goes on.
func (w *Watcher) Err() error {
	if w.err != nil {
		return w.err
	}
	if w.closed.Load() {
		return io.EOF
	}
	reason := w.epoch.end()
	var relisted *ExpiredError
	if errors.As(reason, &relisted) {
		reason = &ExpiredError{Requested: w.position(), Oldest: relisted.Oldest}
	}
	w.err = reason
	return reason
}

// Progress returns the RV up to which Next has returned every matching event: what a bookmark may carry (I4). It holds
// for the moment when Next last returned false; later events are above it.
func (w *Watcher) Progress() RV {
	return w.progress
}

// Initial tells whether Next has initial events left to return.
func (w *Watcher) Initial() bool { return w.snapshot != nil }

// Close ends the watch and leaves nothing behind. It is idempotent.
func (w *Watcher) Close() {
	if w.closed.Swap(true) {
		return
	}
	w.epoch.feeds.leave(w.feed)
	w.epoch.counters.watchers.Add(-1)
}

// lose ends the watch because history no longer holds its place (I6).
func (w *Watcher) lose() (Event, bool) {
	w.epoch.counters.expired.Add(1)
	if w.Err() == nil {
		w.err = w.expired(w.position())
	}
	return Event{}, false
}

func (w *Watcher) expired(rv RV) *ExpiredError {
	return &ExpiredError{Requested: rv, Oldest: w.epoch.history.oldest()}
}

// position returns the RV that the watcher has got to.
func (w *Watcher) position() RV {
	return max(w.seen, w.progress)
}
