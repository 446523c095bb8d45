package cache

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/listfacade/listfacade/selectors"
)

// feeds are all feeds of an epoch, found by predicate when a watcher joins and by anchor when an event comes.
type feeds struct {
	indexes []Index
	open    *atomic.Int64 // how many feeds there are, over all epochs of the lane

	mu          sync.Mutex // guards everything below, and the tail and the number of watchers of each feed
	byPredicate map[string]*feed
	byAnchor    map[anchor][]*feed
	dispatched  int64   // the position behind the last event that feeds have
	grown       []*feed // whose watchers are to be woken
	ended       bool
}

// anchor is the one property of an object by which a feed is found: the most selective that its predicate pins. An
// event concerns only feeds anchored at what the object is, was, or always is; so most feeds are never asked. Like an
// index it proposes, and the predicate decides (I9).
type anchor struct {
	by    int // one of the constants below, or the position of an index
	value string
}

const (
	byNothing = -1 - iota
	byNamespace
	byName
	byKey
)

func (f *feeds) init(indexes []Index, open *atomic.Int64) {
	f.indexes, f.open = indexes, open
	f.byPredicate = make(map[string]*feed)
	f.byAnchor = make(map[anchor][]*feed)
}

func (f *feeds) anchorOf(p *selectors.Predicate) anchor {
	if p.Name() != "" {
		if p.Namespace() != "" {
			return anchor{byKey, p.Namespace() + "/" + p.Name()}
		}
		return anchor{byName, p.Name()}
	}
	for i := range f.indexes {
		if value, ok := f.indexes[i].exact(p); ok {
			return anchor{i, value}
		}
	}
	if p.Namespace() != "" {
		return anchor{byNamespace, p.Namespace()}
	}
	return anchor{by: byNothing}
}

// join makes the caller a watcher of p's feed. It returns the end of the feed and the position in history up to which
// the feed is filled: together they leave neither gap nor repeat (I5). It fails when the epoch is over.
func (f *feeds) join(p *selectors.Predicate) (joined *feed, end feedCursor, dispatched int64, ok bool) {
	key := p.String()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return nil, feedCursor{}, 0, false
	}
	d := f.byPredicate[key]
	if d == nil {
		d = &feed{predicate: p, anchor: f.anchorOf(p), tail: new(feedChunk)}
		f.byPredicate[key] = d
		f.byAnchor[d.anchor] = append(f.byAnchor[d.anchor], d)
		f.open.Add(1)
	}
	d.watchers++
	d.shared.Store(d.watchers > 1)
	return d, d.end(), f.dispatched, true
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
	rest := f.byAnchor[d.anchor]
	i := slices.Index(rest, d)
	if rest = slices.Delete(rest, i, i+1); len(rest) > 0 {
		f.byAnchor[d.anchor] = rest
	} else {
		delete(f.byAnchor, d.anchor)
	}
	f.open.Add(-1)
}

// offer offers an event to the feeds that it may concern, to each once: a feed has one anchor, and no anchor is looked
// up twice.
func (f *feeds) offer(seq int64, e *entry) {
	o := e.now
	if o == nil {
		o = e.before
	}
	f.offerAt(anchor{by: byNothing}, seq, e)
	f.offerAt(anchor{byNamespace, o.Namespace()}, seq, e)
	f.offerAt(anchor{byName, o.Name()}, seq, e)
	f.offerAt(anchor{byKey, o.Key()}, seq, e)
	for i := range f.indexes {
		is := f.indexes[i].value(o)
		f.offerAt(anchor{i, is}, seq, e)
		if e.now == nil || e.before == nil {
			continue
		}
		if was := f.indexes[i].value(e.before); was != is {
			f.offerAt(anchor{i, was}, seq, e)
		}
	}
}

func (f *feeds) offerAt(a anchor, seq int64, e *entry) {
	for _, d := range f.byAnchor[a] {
		if d.offer(seq, e) {
			f.grew(d)
		}
	}
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
