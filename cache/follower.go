package cache

import "sync/atomic"

// follower brings the events of history to feeds, in order. An epoch has two: one for feeds with an anchor and one for
// feeds without. An event is offered to few feeds with an anchor, but to every feed without one. Feeds with an anchor
// must not wait for the others. Fields that are not atomic are guarded by feeds.mu.
type follower struct {
	feeds    int
	next     int64         // position after the last event that was offered to the feeds, or is being offered
	complete atomic.Uint64 // RV up to which the feeds have every event; stored after the events are in the feeds (I4)

	// event is the event that is being offered. It may concern more feeds than one round evaluates.
	event    *entry
	postings []*posting // postings of feeds still to evaluate
	at       *filing    // first feed still to evaluate in the current posting
}

// Limits of one round. At its end, a round wakes the watchers of the feeds that grew. Between rounds, other goroutines
// can take feeds.mu to open and close watchers. A round takes about 0.1 ms.
const (
	eventsAtOnce    = 16  // events offered in a round
	evaluatedAtOnce = 128 // feeds evaluated in a round
)

// follow runs one round for the events before position upTo. It reports whether events are left.
func (f *feeds) follow(w *follower, h *history, upTo int64) (more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.feeds == 0 {
		w.skip(upTo)
	}
	evaluated, events := 0, 0
	for evaluated < evaluatedAtOnce && events < eventsAtOnce {
		if !w.offering() {
			if w.next >= upTo {
				break
			}
			f.begin(w, h)
			events++
		}
		evaluated += f.offer(w, evaluatedAtOnce-evaluated)
	}
	f.wake()
	return w.offering() || w.next < upTo
}

// offering reports whether the current event has feeds still to evaluate.
func (w *follower) offering() bool { return w.at != nil || len(w.postings) > 0 }

// lag returns the number of events before position upTo that were not offered to the feeds yet.
func (f *feeds) lag(upTo int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	lag := int64(0)
	for _, w := range []*follower{&f.anchored, &f.unanchored} {
		if w.feeds > 0 {
			lag = max(lag, upTo-w.next)
		}
	}
	return lag
}

func (w *follower) skip(upTo int64) {
	w.next, w.event, w.at, w.postings = max(w.next, upTo), nil, nil, w.postings[:0]
}

func (f *feeds) begin(w *follower, h *history) {
	e := h.at(w.next)
	if e == nil {
		f.lose(w, h.held.Load().first)
		return
	}
	w.next++
	w.event = e
	if w == &f.unanchored {
		w.postings = append(w.postings, &f.anchors.without)
		return
	}
	for _, o := range [...]*Object{e.before, e.now} {
		if o != nil {
			w.postings = f.anchors.of(o, w.postings)
		}
	}
}

// lose moves the follower to position first, the oldest in history. The follower's feeds get an entry for position
// first-1. A watcher that reads this entry finds its position expired (I6).
func (f *feeds) lose(w *follower, first int64) {
	for _, d := range f.byPredicate {
		if d.follower == w {
			d.append(occurrence(first-1) << 2)
			f.grew(d)
		}
	}
	w.next = first
}

// offer evaluates feeds for the event, none twice, in at most the given number of steps. It returns the steps taken.
func (f *feeds) offer(w *follower, most int) (evaluated int) {
	for ; evaluated < most && w.offering(); evaluated++ {
		if w.at == nil {
			last := len(w.postings) - 1
			w.at, w.postings = w.postings[last].first, w.postings[:last]
			continue // counts as a step, because there may be many empty postings
		}
		d := w.at.feed
		w.at = w.at.next
		if d.evaluated == w.next {
			continue
		}
		d.evaluated = w.next
		if d.offer(w.next-1, w.event) {
			f.grew(d)
		}
	}
	if !w.offering() {
		w.event = nil
	}
	return evaluated
}

// leave removes a feed from the follower. Call it before unfile.
func (w *follower) leave(d *feed) {
	w.feeds--
	for i := range d.filings {
		if w.at == &d.filings[i] {
			w.at = w.at.next
		}
	}
}
