package cache

import (
	"sync"
	"sync/atomic"

	"github.com/listfacade/listfacade/selectors"
)

// feeds are all feeds of an epoch, found by predicate when a watcher joins and by anchor when an event comes.
type feeds struct {
	open *atomic.Int64 // how many feeds there are, over all epochs of the lane

	mu          sync.Mutex // guards everything below, and the number of watchers of each feed
	byPredicate map[string]*feed
	anchors     anchors
	found       follower // brings events to the feeds that have an anchor
	rest        follower // and to those that have none
	grown       []*feed  // whose watchers are to be woken
	ended       bool
}

func (f *feeds) init(first *State, open *atomic.Int64) {
	f.open = open
	f.byPredicate = make(map[string]*feed)
	f.anchors = newAnchors()
	for _, w := range []*follower{&f.found, &f.rest} {
		w.next = first.seq
		w.complete.Store(uint64(first.rv))
	}
}

// of returns the follower that brings events to feeds with an anchor.
func (f *feeds) of(a *anchor) *follower {
	if a.by == byNothing {
		return &f.rest
	}
	return &f.found
}

// membership is a watcher's place in a feed.
type membership struct {
	feed *feed
	end  feedCursor
	seq  int64 // the position in history up to which the feed is filled, or is being filled
}

// join makes the caller a watcher of p's feed. What lies in history before the position that it returns and what the
// feed has behind the end that it returns leave no gap; of an event that is being offered the feed may repeat what
// history has (I5). It fails when the epoch is over.
func (e *epoch) join(p *selectors.Predicate) (j membership, ok bool) {
	f, key := &e.feeds, p.String()
	if j, ok = f.share(key); j.feed != nil || !ok {
		return j, ok
	}
	d := &feed{predicate: p, anchor: e.sample().anchor(p)}
	d.tail.Store(new(feedChunk))
	d.follower = f.of(&d.anchor)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch other := f.byPredicate[key]; {
	case f.ended:
		return membership{}, false
	case other != nil: // somebody else came first
		return other.join(), true
	}
	f.byPredicate[key] = d
	f.anchors.file(d)
	d.follower.feeds++
	f.open.Add(1)
	return d.join(), true
}

// share joins a feed that is there; without one it returns nothing.
func (f *feeds) share(key string) (j membership, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.byPredicate[key]; d != nil && !f.ended {
		return d.join(), true
	}
	return membership{}, !f.ended
}

// join counts a watcher in, under feeds.mu.
func (d *feed) join() membership {
	d.watchers++
	d.shared.Store(d.watchers > 1)
	return membership{d, d.end(), d.follower.next}
}

// leave gives up a watcher's place. The last one takes the feed with it.
func (f *feeds) leave(d *feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d.watchers--
	d.shared.Store(d.watchers > 1)
	if d.watchers > 0 {
		return
	}
	delete(f.byPredicate, d.predicate.String())
	d.follower.leave(d)
	f.anchors.unfile(d)
	f.open.Add(-1)
}

// finish wakes every watcher to find the epoch ended.
func (f *feeds) finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for _, d := range f.byPredicate {
		d.grown.fire()
	}
}

// wakeAll wakes every watcher to look whether a gap that was bridged concerns it.
func (f *feeds) wakeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.byPredicate {
		d.grown.fire()
	}
}

// grew has the watchers of a feed woken, once for all that it got together.
func (f *feeds) grew(d *feed) {
	if !d.signalled {
		d.signalled = true
		f.grown = append(f.grown, d)
	}
}

// wake wakes the watchers of the feeds that grew.
func (f *feeds) wake() {
	for i, d := range f.grown {
		d.signalled = false
		d.grown.fire()
		f.grown[i] = nil
	}
	f.grown = f.grown[:0]
}
