package cache

import (
	"iter"
	"slices"
	"weak"

	"github.com/listfacade/listfacade/internal/wire"
)

// A segment is a sequence of objects in a response that shows a part of a tree: one namespace, or one value of an
// index. The boundaries of pages depend on all objects of the tree. In a compressed response, a client could see these
// boundaries and learn about objects that it must not read. The boundaries of segments depend only on the keys of the
// response's own objects.
const (
	shortestSegment = 16   // minimum length, in objects
	longestSegment  = most // maximum length, in objects; also the maximum of a page
	segmentCut      = 48   // about one key in segmentCut begins a segment, so segments have about the size of pages
)

func (t *tree) segments(in interval) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for c := t.cursor(in); !c.done(); {
			if !yield(c.nextSegment()) {
				return
			}
		}
	}
}

// nextSegment returns the objects up to the start of the next segment, and advances. The caller checks done first.
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

// beginsSegment reports whether a segment may begin at the object with this key. The hash is FNV-1a.
func beginsSegment(key string) bool {
	hash := uint32(2166136261)
	for i := range len(key) {
		hash = (hash ^ uint32(key[i])) * 16777619
	}
	return hash>>8%segmentCut == 0
}

// join copies a segment of several pages into one new page. The precompressed representations of the new page are
// stored at the first of the old pages, for later responses with the same segment.
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

// joint stores the precompressed representations of a segment that begins on one page and ends on another. Its
// references to pages are weak. When a writer replaces one of the pages, the segment gets a new joint.
type joint struct {
	from, to      int                  // object indexes in the first page and in the last
	following     []weak.Pointer[Page] // pages after the first
	precompressed wire.PrecompressedPage
}

func (j *joint) is(from, to int, following []weak.Pointer[Page]) bool {
	return j != nil && j.from == from && j.to == to && slices.Equal(j.following, following)
}

// joint returns the representations of a segment that begins at p.objects[from] and ends on another page. Only lists
// with a limit can have several such segments for one page. The page then stores the last one.
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
