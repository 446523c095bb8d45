package cache

import "sync/atomic"

// follower brings the events of history to feeds, in order and after the writer. There are two: for feeds with an
// anchor and for those without. An event concerns few feeds with an anchor, so these feeds must not wait for feeds
// without one. Fields that are not atomic are guarded by feeds.mu.
type follower struct {
	feeds    int           // number of feeds
	next     int64         // position after the last event that was offered to the feeds, or is being offered
	complete atomic.Uint64 // RV up to which the feeds have every event; stored after the events are in the feeds (I4)

	// event is the event that is being offered. It may concern more feeds than one round evaluates.
	event    *entry
	postings []*posting // postings of feeds still to evaluate
	at       *filing    // first feed still to evaluate in the current posting
}

// Limits of one round. After a round, the watchers of feeds that grew are woken, and feeds.mu is free for opening and
// closing watchers. A round takes about a tenth of a millisecond.
const (
	eventsAtOnce    = 16  // events offered in a round
	evaluatedAtOnce = 128 // feeds evaluated in a round
)

// follow offers the follower's feeds some of the events before a position that they have not received. It reports
// whether more are left.
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

// lag returns the number of events before a position that were not offered to the feeds yet.
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

// begin finds the feeds that the next event may concern.
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

// lose continues at the argument first, which is the first position that history still has. Each feed gets an entry for
// the dropped position before the argument first. A slow watcher that reads this entry finds its position expired (I6).
func (f *feeds) lose(w *follower, first int64) {
	for _, d := range f.byPredicate {
		if d.follower == w {
			d.append(occurrence(first-1) << 2)
			f.grew(d)
		}
	}
	w.next = first
}

// offer evaluates the next feeds for the event, at most as many as the argument most, and returns their number. It
// evaluates each feed once, even when the feed matches both the old and the new object.
func (f *feeds) offer(w *follower, most int) (evaluated int) {
	for ; evaluated < most && w.offering(); evaluated++ {
		if w.at == nil {
			last := len(w.postings) - 1
			w.at, w.postings = w.postings[last].first, w.postings[:last]
			continue // counts towards the limit, because there may be many empty postings
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

// leave removes a feed from the follower, before it is unfiled.
func (w *follower) leave(d *feed) {
	w.feeds--
	for i := range d.filings {
		if w.at == &d.filings[i] {
			w.at = w.at.next
		}
	}
}
