package cache

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/listfacade/listfacade/selectors"
)

// Watcher is one subscription: a cursor. With InitialEvents it first moves through a State's objects. Then it moves
// through history up to the position where it joined its feed, and then through the feed. It has no queue. A slow
// reader only has an older cursor (I8), until history drops its position.
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

	snapshot    *State // State of the initial events; nil after the last one
	initial     cursor
	unmatched   int   // objects of the snapshot that did not match
	seq         int64 // position in history of the next event to read
	joined      int64 // position up to which the watcher reads history; later events come from the feed
	skip        RV    // events up to this RV are dropped, because the watch started after it
	ahead       bool  // whether the watch started at skip and the lane may still be below it
	exact       bool  // whether the watch ends at a replayed lost window
	lostWindows int64 // epoch.lostWindows at the last check, which did not end the watch
	endOfReplay RV    // end of the lost window that contains the last event; 0 if none does
	feed        *feed
	cursor      feedCursor

	seen     RV // RV of the last event returned
	progress RV
	err      error
	closed   atomic.Bool

	// Atomic fields for Position and Behind, which other goroutines may call.
	notified atomic.Uint64 // RV that the watcher has reached
	replay   atomic.Int64  // number of events that the watcher has still to read from history
	passed   atomic.Int64  // number of entries of the feed that the watcher has read
}

// Next returns the next event. It does not block: false means that there is no event now, or that the watch has ended.
// See Err.
func (w *Watcher) Next() (Event, bool) {
	if w.err != nil || w.closed.Load() {
		return Event{}, false
	}
	// complete is loaded before look searches for events. All events up to this RV are already in history or in the
	// feed. If none of them is left, every matching event up to this RV was returned (I4).
	complete := RV(w.feed.follower.complete.Load())
	event, ok := w.look()
	switch {
	case w.err != nil:
	// Checked after look, because a replay is counted in lostWindows before its events and their RVs are readable.
	case w.endsAtLostWindow(complete):
		return w.lose()
	case ok:
		w.seen = event.RV
	case w.endOfReplay > 0: // nothing is complete before the end of the window
		w.progress = max(w.progress, complete)
	default:
		// complete may not include the last returned event yet, so the RV of this event counts, too.
		w.progress = max(w.progress, complete, w.epoch.wholeAt(w.seen))
	}
	w.notified.Store(uint64(w.position()))
	return event, ok
}

// Position returns the RV that the watch has reached: the RV of the last event that Next returned, or the RV up to
// which the watch is complete, whichever is higher. It is safe for concurrent use.
func (w *Watcher) Position() uint64 { return w.notified.Load() }

// Behind returns about how many existing events Next has not returned yet, without initial events. Events from before
// the watch began count even if they are not selected. It is safe for concurrent use.
func (w *Watcher) Behind() int64 {
	passed := w.passed.Load() // loaded first, because offered may grow in the meantime
	return max(w.feed.offered()-passed, 0) + w.replay.Load()
}

// endsAtLostWindow reports whether a replayed lost window ends the watch. If so, it sets w.err. Such windows end exact
// watches, and watches that started at an RV inside the window before the lane knew of the loss. Their clients may know
// objects that were created inside the window, and the lane cannot say whether these still exist.
func (w *Watcher) endsAtLostWindow(complete RV) bool {
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

// EndOfReplay returns the end of the lost window that contains the last event. It returns 0 if the event was in no lost
// window or at the end of one. A client whose last RV is inside the window could not resume, or would receive the same
// events again. Send the client a bookmark as soon as Progress is at EndOfReplay.
func (w *Watcher) EndOfReplay() RV {
	if w.seen >= w.endOfReplay {
		return 0
	}
	return w.endOfReplay
}

// NextInitial returns the next initial events as a run of objects that are all ADDED, for callers that send many at a
// time. When it returns false, the caller must use Next: no initial event is left, the predicate does not select every
// object, or the watch has ended.
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

// nextInitial returns an initial event or InitialEventsEnd, unless history no longer has the events after them.
func (w *Watcher) nextInitial() (Event, bool) {
	if !w.epoch.history.holds(w.seq) {
		return w.lose()
	}
	for !w.initial.done() {
		if o := w.initial.next(); w.predicate.Matches(&o.Attributes) {
			return Event{Type: Added, Object: o, RV: o.RV}, true
		}
		w.unmatched++
	}
	if w.initial.tree == &w.snapshot.objects {
		w.epoch.indexer.missed(w.snapshot, w.predicate, w.unmatched)
	}
	rv := w.snapshot.rv
	w.snapshot, w.initial = nil, cursor{}
	return Event{Type: InitialEventsEnd, RV: rv}, true
}

func (w *Watcher) nextReplayed() (Event, bool) {
	for w.seq < w.joined {
		seq := w.seq
		if seq%segmentSize == 0 && w.joined-seq >= segmentSize && w.epoch.history.lacks(seq, &w.feed.anchor) {
			w.seq += segmentSize
			w.replay.Store(w.joined - w.seq)
			continue
		}
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
		if next.seq() < w.seq { // the watcher started after the event, or has read it from history
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

// Wait returns a channel that is closed when Next may return an event or the watch has ended.
func (w *Watcher) Wait() <-chan struct{} {
	grown := w.feed.grown.armed()
	if w.Err() != nil || w.snapshot != nil || w.seq < w.joined || w.cursor.pending() ||
		w.lostWindows != w.epoch.lostWindows.Load() {
		return fired
	}
	return grown
}

// Err returns why the watch ended, or nil while it continues. It is *ExpiredError when the lane can no longer continue
// the watch or a relist began a new epoch, and io.EOF after Lane.Close or Close.
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

// Progress returns the RV up to which Next has returned every matching event, which a bookmark may carry (I4). It was
// computed when Next last returned false.
func (w *Watcher) Progress() RV {
	return w.progress
}

// Initial reports whether Next has initial events left to return.
func (w *Watcher) Initial() bool { return w.snapshot != nil }

// Close ends the watch and releases its feed. It is idempotent.
func (w *Watcher) Close() {
	if w.closed.Swap(true) {
		return
	}
	w.epoch.feeds.leave(w.feed)
	w.epoch.counters.watchers.Add(-1)
}

// lose ends the watch. If no reason is known yet, history no longer has the watch's position (I6).
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

func (w *Watcher) position() RV {
	return max(w.seen, w.progress)
}
