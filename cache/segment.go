package cache

import (
	"iter"
	"slices"
	"weak"

	"github.com/listfacade/listfacade/internal/wire"
)

// A segment is a run for an answer that shows a part of a tree: one namespace, or one value of an index. Where pages
// begin depends on the objects of others, too, and where the blocks of a compressed list begin shows where its runs do.
// Where a segment begins depends on the objects of the answer alone: before an object whose key says so.
const (
	shortestSegment = 16   // in objects
	longestSegment  = most // in objects; what makes forms of pages makes forms of segments
	segmentCut      = 48   // one key in so many begins a segment, so that segments have about as many objects as pages
)

// segments yields what an interval covers in segments, in order.
func (t *tree) segments(in interval) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for c := t.cursor(in); !c.done(); {
			if !yield(c.nextSegment()) {
				return
			}
		}
	}
}

// nextSegment returns the objects up to where the next segment begins, and moves there; only when not done.
func (c *cursor) nextSegment() Run {
	first := c.at
	length := 0
	for ; length < longestSegment && !c.done(); length++ {
		if length >= shortestSegment && beginsSegment(c.tree.object(c.at).Key()) {
			break
		}
		c.at.object++
		c.settle()
	}
	page := c.tree.page(first)
	if to := first.object + length; to <= page.Len() {
		return Run{Page: page, From: first.object, To: to}
	}
	return Run{Page: c.tree.join(first, length), To: length}
}

// beginsSegment reports whether a segment begins before the object of a key. The hash is FNV-1a.
func beginsSegment(key string) bool {
	hash := uint32(2166136261)
	for i := range len(key) {
		hash = (hash ^ uint32(key[i])) * 16777619
	}
	return hash>>8%segmentCut == 0
}

// join returns a page with so many objects of several pages. What it looks like in bodies is kept at the first of them,
// for the next answer that has the same segment.
func (t *tree) join(first spot, length int) *Page {
	joined := &Page{objects: make([]*Object, 0, length)}
	var following []weak.Pointer[Page]
	to := 0
	for at := first; len(joined.objects) < length; {
		page := t.page(at)
		to = min(page.Len(), at.object+length-len(joined.objects))
		joined.objects = append(joined.objects, page.objects[at.object:to]...)
		if at != first {
			following = append(following, weak.Make(page))
		}
		at = t.following(at)
	}
	joined.kept = t.page(first).joint(first.object, to, following)
	return joined
}

// joint keeps what a segment looks like that begins on one page and ends on another. It holds none of the pages: each
// of them may be replaced, and then there is another segment.
type joint struct {
	from, to      int                  // of the first page, and of the last
	following     []weak.Pointer[Page] // behind the first page
	precompressed wire.PrecompressedPage
}

func (j *joint) is(from, to int, following []weak.Pointer[Page]) bool {
	return j != nil && j.from == from && j.to == to && slices.Equal(j.following, following)
}

// joint returns what is kept of the segment that begins at an object of the page and ends on another one. Of several
// that begin on a page, which only lists with a limit have, the last is kept.
func (p *Page) joint(from, to int, following []weak.Pointer[Page]) *wire.PrecompressedPage {
	kept := p.segment.Load()
	if kept.is(from, to, following) {
		return &kept.precompressed
	}
	joint := &joint{from: from, to: to, following: following}
	if p.segment.CompareAndSwap(kept, joint) {
		if kept != nil {
			kept.precompressed.Drop()
		}
		return &joint.precompressed
	}
	return p.joint(from, to, following)
}
