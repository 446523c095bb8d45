package cache

import (
	"slices"
	"unsafe"

	"github.com/listfacade/listfacade/selectors"
)

// Index names a property by which a lane also orders its objects. A list that requires exactly one value of this
// property need not read objects with other values. An index only proposes candidates; the predicate decides (I9).
type Index struct{ property selectors.Property }

// FieldIndex returns an index of the selectable field at a location (Kind.Location).
func FieldIndex(at selectors.Location) Index { return Index{selectors.FieldProperty(at)} }

// LabelIndex returns an index of one label key.
func LabelIndex(key string) Index { return Index{selectors.LabelProperty(key)} }

type index struct {
	Index
	tree   tree
	demand *demand // nil for an index of Options.Indexes
}

// newIndex returns an index of objects, which are in key order.
func newIndex(of Index, objects []*Object) index {
	byValue := map[string][]*Object{}
	var values []string
	count := 0
	for _, o := range objects {
		value, has := of.property.Of(&o.Attributes)
		if !has {
			continue
		}
		if byValue[value] == nil {
			values = append(values, value)
		}
		byValue[value] = append(byValue[value], o)
		count++
	}
	slices.Sort(values)
	sorted := make([]*Object, 0, count)
	for _, value := range values {
		sorted = append(sorted, byValue[value]...)
	}
	return index{Index: of, tree: newTree(of.value, sorted)}
}

func (i Index) value(o *Object) string {
	value, _ := i.property.Of(&o.Attributes)
	return value
}

// exact returns the value of the property that p requires, if p requires exactly one.
func (i Index) exact(p *selectors.Predicate) (value string, ok bool) {
	for r := range p.Requirements() {
		if r.Property == i.property && len(r.Values) == 1 {
			return r.Values[0], true
		}
	}
	return "", false
}

// after returns the index after one event: before (nil if the object is new) replaced by now (nil if it is deleted).
func (i index) after(before, now *Object) index {
	var was, is string
	var had, has bool
	if before != nil {
		was, had = i.property.Of(&before.Attributes)
	}
	if now != nil {
		is, has = i.property.Of(&now.Attributes)
	}
	if had && (!has || was != is) {
		i.tree = i.tree.without(before)
	}
	if has {
		i.tree = i.tree.put(now)
	}
	return i
}

func reindexed(indexes []index, before, now *Object) []index {
	if len(indexes) == 0 {
		return nil
	}
	next := make([]index, len(indexes))
	for i := range indexes {
		next[i] = indexes[i].after(before, now)
	}
	return next
}

// pageBytes is the cost in bytes of an index page without its entries. It consists of the Page (the Go allocator rounds
// its size up to a multiple of 16), the pointer to the Page, and the share of a chunk with the usual number of pages.
const pageBytes = int(unsafe.Sizeof(Page{})+15)&^15 + 8 + (int(unsafe.Sizeof(chunk{}))+8)/fill

// bytes returns about how many bytes of memory the index takes without its objects, which belong to the State.
func (i *index) bytes() int64 {
	const pointer = 8
	pages := 0
	for _, c := range i.tree.chunks {
		pages += len(c.pages)
	}
	return int64(i.tree.count*pointer + pages*pageBytes)
}

// indexed returns p's candidates in a span. It uses the first index of Options.Indexes by which p selects. Otherwise it
// uses the lane-built index with the fewest candidates, if these are fewer than the objects of the span. by is the
// demand of a lane-built index, else nil.
func (s *State) indexed(p *selectors.Predicate, span Span) (t *tree, in interval, by *demand) {
	t, in = &s.objects, span.keys()
	fewest := -1
	for i := range s.indexes {
		index := &s.indexes[i]
		value, ok := index.exact(p)
		if !ok {
			continue
		}
		if index.demand == nil {
			return &index.tree, span.of(value), nil
		}
		if fewest < 0 {
			fewest = t.countIn(in)
		}
		if n := index.tree.countIn(span.of(value)); n < fewest {
			t, in, by, fewest = &index.tree, span.of(value), index.demand, n
		}
	}
	return t, in, by
}
