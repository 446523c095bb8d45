package cache

import "sync/atomic"

// follower brings the events of history to feeds, in order and behind the writer. There are two, of the feeds that have
// an anchor and of those that have none: the first are few for each event, and never wait until all of the others were
// asked. What is not atomic is guarded by feeds.mu.
type follower struct {
	feeds    int           // how many there are
	next     int64         // the position behind the last event that they have, or are being offered
	complete atomic.Uint64 // the RV up to which they have every event; stored after they have (I4)

	// The event that is being offered: more feeds than are asked at once may have to be asked about it.
	event    *entry
	postings []*posting // of the feeds that are still to be asked,
	at       *filing    // behind those from here on
}

// How much is done before those that grew wake their watchers and whoever opens or closes a watch has a turn: a tenth
// of a millisecond, about.
const (
	eventsAtOnce = 16  // are offered
	askedAtOnce  = 128 // feeds are asked
)

// follow offers a follower's feeds some of the events that they lack up to a position, and reports whether there are
// more.
func (f *feeds) follow(w *follower, h *history, upTo int64) (more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.feeds == 0 {
		w.skip(upTo)
	}
	asked, events := 0, 0
	for asked < askedAtOnce && events < eventsAtOnce {
		if !w.offering() {
			if w.next >= upTo {
				break
			}
			f.begin(w, h)
			events++
		}
		asked += f.offer(w, askedAtOnce-asked)
	}
	f.wake()
	return w.offering() || w.next < upTo
}

// offering reports whether feeds are left to be asked about an event.
func (w *follower) offering() bool { return w.at != nil || len(w.postings) > 0 }

// lag returns how many events up to a position feeds have not been offered.
func (f *feeds) lag(upTo int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	lag := int64(0)
	for _, w := range []*follower{&f.found, &f.rest} {
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
	if w == &f.rest {
		w.postings = append(w.postings, &f.anchors.without)
		return
	}
	for _, o := range [...]*Object{e.before, e.now} {
		if o != nil {
			w.postings = f.anchors.of(o, w.postings)
		}
	}
}

// lose goes on at the first position that history still holds. The feeds get the one before, so that who has not read
// beyond it finds its place lost (I6).
func (f *feeds) lose(w *follower, first int64) {
	for _, d := range f.byPredicate {
		if d.follower == w {
			d.append(occurrence(first-1) << 2)
			f.grew(d)
		}
	}
	w.next = first
}

// offer asks up to so many feeds about the event, each once, whether it is found by what the object was or by what it
// is or by both. It returns how many it asked.
func (f *feeds) offer(w *follower, most int) (asked int) {
	for ; asked < most && w.offering(); asked++ {
		if w.at == nil {
			last := len(w.postings) - 1
			w.at, w.postings = w.postings[last].first, w.postings[:last]
			continue // counts, too: postings may be many, and empty
		}
		d := w.at.feed
		w.at = w.at.next
		if d.asked == w.next {
			continue
		}
		d.asked = w.next
		if d.offer(w.next-1, w.event) {
			f.grew(d)
		}
	}
	if !w.offering() {
		w.event = nil
	}
	return asked
}

// leave lets the follower forget a feed that goes, before it is unfiled.
func (w *follower) leave(d *feed) {
	w.feeds--
	for i := range d.filings {
		if w.at == &d.filings[i] {
			w.at = w.at.next
		}
	}
}
