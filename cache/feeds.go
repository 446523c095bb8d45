package cache

import (
	"sync"
	"sync/atomic"

	"github.com/listfacade/listfacade/selectors"
)

type feeds struct {
	open *atomic.Int64 // number of open feeds in all epochs of the lane

	mu          sync.Mutex // guards all fields below, and the number of watchers of each feed
	byPredicate map[string]*feed
	anchors     anchors
	anchored    follower
	unanchored  follower
	grown       []*feed
	ended       bool
}

func (f *feeds) init(first *State, open *atomic.Int64) {
	f.open = open
	f.byPredicate = make(map[string]*feed)
	f.anchors = newAnchors()
	for _, w := range []*follower{&f.anchored, &f.unanchored} {
		w.next = first.seq
		w.complete.Store(uint64(first.rv))
	}
}

func (f *feeds) of(a *anchor) *follower {
	if a.by == byNothing {
		return &f.unanchored
	}
	return &f.anchored
}

type membership struct {
	feed *feed
	end  feedCursor
	seq  int64 // position in history up to which the feed is filled, or is being filled
}

// join makes the caller a watcher of p's feed. History before the returned seq and the feed after the returned end
// together contain every event. The feed may repeat the event that is being offered at that moment (I5). ok is false
// when the epoch has ended.
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
	case other != nil: // another watcher created the feed first
		return other.join(), true
	}
	f.byPredicate[key] = d
	f.anchors.file(d)
	d.follower.feeds++
	f.open.Add(1)
	return d.join(), true
}

// share joins the feed with a key, if the feed exists. ok is false when the epoch has ended.
func (f *feeds) share(key string) (j membership, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.byPredicate[key]; d != nil && !f.ended {
		return d.join(), true
	}
	return membership{}, !f.ended
}

// join counts a new watcher. feeds.mu must be held.
func (d *feed) join() membership {
	d.watchers++
	d.shared.Store(d.watchers > 1)
	return membership{d, d.end(), d.follower.next}
}

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

// finish wakes every watcher, which then finds that the epoch has ended.
func (f *feeds) finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for _, d := range f.byPredicate {
		d.grown.fire()
	}
}

// wakeAll wakes every watcher, which then checks whether a replayed window concerns it.
func (f *feeds) wakeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.byPredicate {
		d.grown.fire()
	}
}

// grew marks a feed. The next call of wake notifies its watchers.
func (f *feeds) grew(d *feed) {
	if !d.signalled {
		d.signalled = true
		f.grown = append(f.grown, d)
	}
}

func (f *feeds) wake() {
	for i, d := range f.grown {
		d.signalled = false
		d.grown.fire()
		f.grown[i] = nil
	}
	f.grown = f.grown[:0]
}
