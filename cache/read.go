package cache

import (
	"iter"
	"slices"

	"github.com/listfacade/listfacade/selectors"
)

// Runs yields a span's objects page by page, in key order. It allocates nothing per object or page.
func (s *State) Runs(span Span) iter.Seq[Run] {
	return s.objects.runs(span.keys())
}

// Objects yields a span's objects in key order.
func (s *State) Objects(span Span) iter.Seq[*Object] {
	return flat(s.Runs(span))
}

// Count returns the number of objects in a span without visiting them. remainingItemCount is Count from the first key
// of the next chunk (semantics 2.6).
func (s *State) Count(span Span) int {
	return s.objects.countIn(span.keys())
}

// Bytes returns the total size of the items in a span.
func (s *State) Bytes(span Span) int64 {
	bytes := int64(0)
	for run := range s.Runs(span) {
		bytes += run.Bytes()
	}
	return bytes
}

// Chunk is the part of a list that one request with a limit returns.
type Chunk struct {
	Runs    []Run
	Len     int  // number of objects in the runs
	Looked  int  // number of candidates visited
	More    bool // whether candidates follow the last object (semantics 2.6)
	Indexed bool // whether the candidates come from an index, so objects outside the index may follow
}

// Last returns the last object. The chunk must not be empty.
func (c *Chunk) Last() *Object {
	run := c.Runs[len(c.Runs)-1]
	return run.Page.objects[run.To-1]
}

// Bytes returns the total size of the chunk's items.
func (c *Chunk) Bytes() int64 {
	bytes := int64(0)
	for _, run := range c.Runs {
		bytes += run.Bytes()
	}
	return bytes
}

// Chunk returns the first objects that p matches, at or after the key from. The limit is their maximum number, at least
// 1. Chunk costs O(limit) when p selects everything in its namespace.
func (s *State) Chunk(p *selectors.Predicate, from string, limit int) Chunk {
	selection := s.Selection(p, from)
	selection.limit = limit
	runs := slices.Collect(selection.Runs())
	return Chunk{Runs: runs, Len: selection.Selected, Looked: selection.Looked, More: selection.more,
		Indexed: selection.indexed}
}

// narrow returns the tree and the interval that contain all matches of p: one key, a part of an index, or p's
// namespace. by is the demand of a lane-built index, else nil.
func (s *State) narrow(p *selectors.Predicate, from string) (t *tree, in interval, by *demand) {
	span := spanOf(p, from)
	if p.Name() != "" && (span.Prefix != "" || s.epoch.options.Scope == selectors.Cluster) {
		return &s.objects, only(span.Prefix+p.Name(), from), nil
	}
	return s.indexed(p, span)
}

func spanOf(p *selectors.Predicate, from string) Span {
	span := Span{From: from}
	if p.Namespace() != "" {
		span.Prefix = p.Namespace() + "/"
	}
	return span
}

func flat(runs iter.Seq[Run]) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for run := range runs {
			for _, o := range run.Objects() {
				if !yield(o) {
					return
				}
			}
		}
	}
}
