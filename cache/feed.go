package cache

import (
	"sync/atomic"

	"github.com/listfacade/listfacade/selectors"
)

// feed lists the events of history that concern one predicate. It references only its last chunk, so entries that all
// watchers have read are garbage. An unread entry costs eight bytes, however large the object is.
type feed struct {
	predicate *selectors.Predicate
	anchor    anchor
	follower  *follower
	filings   []filing                  // guarded by feeds.mu
	evaluated int64                     // position after the last event compared with the feed; guarded by feeds.mu
	watchers  int                       // guarded by feeds.mu
	tail      atomic.Pointer[feedChunk] // last chunk; stored under feeds.mu
	signalled bool                      // whether feeds.grown contains the feed; guarded by feeds.mu
	shared    atomic.Bool               // whether the feed has several watchers
	grown     signal
}

// occurrence is an event in a feed: its position in history, and its EventType in the lowest two bits.
type occurrence uint64

func (o occurrence) seq() int64      { return int64(o >> 2) }
func (o occurrence) kind() EventType { return EventType(o & 3) }

// feedChunkSize is the number of entries in a chunk. It keeps a chunk below half a kilobyte, because a large cluster
// has one feed per node.
const feedChunkSize = 44

// feedChunk is a piece of a feed. When the chunk is full, the dispatcher links the next chunk.
type feedChunk struct {
	base    int64 // number of entries in earlier chunks
	entries [feedChunkSize]occurrence
	filled  atomic.Int32 // number of entries in place; stored after the entry
	next    atomic.Pointer[feedChunk]
}

// offer appends an event to the feed if the event concerns the predicate (semantics 4.4), and reports whether it does.
// The caller holds feeds.mu.
func (f *feed) offer(seq int64, e *entry) bool {
	t, ok := e.meaning(f.predicate)
	if ok {
		e.notified.Add(int32(f.watchers)) //nolint:gosec // fewer than 2^31 connections exist
		f.append(occurrence(seq)<<2 | occurrence(t))
	}
	return ok
}

// meaning returns the type of the event for watchers with predicate p, and whether the event concerns them (I7).
func (e *entry) meaning(p *selectors.Predicate) (t EventType, concerned bool) {
	was := e.before != nil && p.Matches(&e.before.Attributes)
	is := e.now != nil && p.Matches(&e.now.Attributes)
	switch {
	case is && e.audience == toFormerSelectors, !is && e.audience == toOtherSelectors:
		return 0, false
	case is && was:
		return Modified, true
	case is:
		return Added, true
	case was:
		return Deleted, true
	default:
		return 0, false
	}
}

func (f *feed) append(o occurrence) {
	tail := f.tail.Load()
	filled := tail.filled.Load()
	if filled < feedChunkSize {
		tail.entries[filled] = o
		tail.filled.Store(filled + 1)
		return
	}
	c := &feedChunk{base: tail.base + feedChunkSize}
	c.entries[0] = o
	c.filled.Store(1)
	tail.next.Store(c)
	f.tail.Store(c)
}

// offered returns the number of entries that were ever appended to the feed. It is safe for concurrent use.
func (f *feed) offered() int64 {
	tail := f.tail.Load()
	return tail.base + int64(tail.filled.Load())
}

type feedCursor struct {
	chunk *feedChunk
	index int32
}

// end returns the cursor after the feed's last entry. feeds.mu must be held.
func (f *feed) end() feedCursor {
	tail := f.tail.Load()
	return feedCursor{tail, tail.filled.Load()}
}

func (c *feedCursor) passed() int64 { return c.chunk.base + int64(c.index) }

func (c *feedCursor) next() (occurrence, bool) {
	if !c.pending() {
		return 0, false
	}
	if c.index == feedChunkSize {
		*c = feedCursor{chunk: c.chunk.next.Load()}
	}
	o := c.chunk.entries[c.index]
	c.index++
	return o, true
}

func (c *feedCursor) pending() bool {
	if c.index == feedChunkSize {
		return c.chunk.next.Load() != nil
	}
	return c.index < c.chunk.filled.Load()
}
