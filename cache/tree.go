package cache

import (
	"slices"
	"sort"
	"strings"
)

// A tree is a persistent ordered set of objects in three fixed levels:
//
//	tree -> chunks (about 64 pages each) -> pages (about 64 objects each) -> objects
//
// The order is by (value, key). A State's own tree has no values, so its order is that of the storage keys. An index's
// tree sorts by the indexed value first. Trees are values: an edit returns another tree that shares all but one path
// (edit.go).
//
// Three levels suffice: a million objects make about 250 chunks. Copying 250 pointers costs less than the CPU cache
// misses of more levels.
type tree struct {
	value  func(*Object) string // returns the value of an object; nil if all values are empty
	chunks []*chunk
	count  int
}

// chunk is a sequence of neighbouring pages. It stores its number of objects, because rank must not visit all pages.
type chunk struct {
	pages []*Page
	end   position // position of the last object
	count int
}

const (
	fill   = 64  // initial size: objects of a page, pages of a chunk
	most   = 128 // maximum size; a larger page or chunk is split in two
	fewest = 16  // minimum size; a smaller page or chunk is merged with a neighbour if the result is small enough
)

func newChunk(pages []*Page) *chunk {
	c := &chunk{pages: pages, end: pages[len(pages)-1].end}
	for _, p := range pages {
		c.count += p.Len()
	}
	return c
}

// newTree returns a tree of objects with distinct keys, in any order. It may sort the slice.
func newTree(value func(*Object) string, objects []*Object) tree {
	t := tree{value: value, count: len(objects)}
	if !slices.IsSortedFunc(objects, t.compare) {
		slices.SortFunc(objects, t.compare)
	}
	var pages []*Page
	for run := range slices.Chunk(objects, fill) {
		pages = append(pages, t.newPage(slices.Clone(run)))
	}
	for run := range slices.Chunk(pages, fill) {
		t.chunks = append(t.chunks, newChunk(slices.Clone(run)))
	}
	return t
}

// position is the sort key of an object in a tree.
type position struct {
	value, key string
}

func (t *tree) positionOf(o *Object) position {
	if t.value == nil {
		return position{key: o.Key()}
	}
	return position{t.value(o), o.Key()}
}

func (t *tree) newPage(objects []*Object) *Page {
	return &Page{objects: objects, end: t.positionOf(objects[len(objects)-1])}
}

func (t *tree) compare(a, b *Object) int {
	if t.value != nil {
		if c := strings.Compare(t.value(a), t.value(b)); c != 0 {
			return c
		}
	}
	return strings.Compare(a.Key(), b.Key())
}

// reaches reports whether p is at or after other.
func (p *position) reaches(other position) bool {
	if p.value != other.value {
		return p.value > other.value
	}
	return p.key >= other.key
}

// spot is the location of an object in a tree. The spot after the last object is {len(chunks), 0, 0}.
type spot struct {
	chunk, page, object int
}

// seek returns the spot of the first object at or after p.
func (t *tree) seek(p position) spot {
	ci := sort.Search(len(t.chunks), func(i int) bool { return t.chunks[i].end.reaches(p) })
	if ci == len(t.chunks) {
		return t.end()
	}
	pages := t.chunks[ci].pages
	pi := sort.Search(len(pages), func(i int) bool { return pages[i].end.reaches(p) })
	objects := pages[pi].objects
	oi := sort.Search(len(objects), func(i int) bool {
		at := t.positionOf(objects[i])
		return at.reaches(p)
	})
	return spot{ci, pi, oi}
}

func (t *tree) end() spot {
	return spot{chunk: len(t.chunks)}
}

// find returns the spot of the object at p, or the spot where it would be inserted.
func (t *tree) find(p position) (at spot, found bool) {
	at = t.seek(p)
	return at, at != t.end() && t.positionOf(t.object(at)) == p
}

// page returns the page at a spot, which must not be the end.
func (t *tree) page(at spot) *Page {
	return t.chunks[at.chunk].pages[at.page]
}

func (t *tree) object(at spot) *Object {
	return t.page(at).objects[at.object]
}

func (t *tree) rank(at spot) int {
	n := at.object
	for _, c := range t.chunks[:at.chunk] {
		n += c.count
	}
	if at.page > 0 {
		for _, p := range t.chunks[at.chunk].pages[:at.page] {
			n += p.Len()
		}
	}
	return n
}
