package cache

import "iter"

// Span is a range of a State's keys. It contains the keys that begin with Prefix and are at or after From, in bytewise
// order. The zero Span contains all keys.
type Span struct {
	// Prefix is "" for all objects or "namespace/" for the objects of a namespace. The characters '-' and '.' sort
	// before '/', so this order differs from a sort by (namespace, name) (semantics 2.7).
	Prefix string
	// From is the first key. A key followed by "\x00" means to start after that key, as in continue tokens (semantics
	// 2.5).
	From string
}

// interval contains the positions of a tree with from <= position < to. An open interval has no end.
type interval struct {
	from, to position
	open     bool
}

// keys returns the interval of span in a State's own tree.
func (span Span) keys() interval {
	in := interval{from: position{key: max(span.Prefix, span.From)}}
	in.to.key, in.open = successor(span.Prefix)
	return in
}

// of returns the interval of span in an index, for the objects with this value.
func (span Span) of(value string) interval {
	in := interval{from: position{value, max(span.Prefix, span.From)}}
	end, open := successor(span.Prefix)
	if open {
		in.to = position{value: value + "\x00"} // no string sorts between value and this one
	} else {
		in.to = position{value, end}
	}
	return in
}

// only returns the interval of one key in a State's own tree. It is empty when key < from.
func only(key, from string) interval {
	return interval{from: position{key: max(key, from)}, to: position{key: key + "\x00"}}
}

// successor returns the first string after all strings that begin with prefix. open means that there is no such string.
func successor(prefix string) (end string, open bool) {
	for n := len(prefix); n > 0; n-- {
		if last := prefix[n-1]; last < 0xff {
			return prefix[:n-1] + string([]byte{last + 1}), false
		}
	}
	return "", true
}

func (t *tree) bounds(in interval) (from, to spot) {
	from, to = t.seek(in.from), t.end()
	if !in.open {
		to = t.seek(in.to)
	}
	return from, to
}

func (t *tree) countIn(in interval) int {
	from, to := t.bounds(in)
	return max(0, t.rank(to)-t.rank(from))
}

func (t *tree) runs(in interval) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for c := t.cursor(in); !c.done(); {
			if !yield(c.nextRun()) {
				return
			}
		}
	}
}

type cursor struct {
	tree   *tree
	at, to spot
}

func (t *tree) cursor(in interval) cursor {
	from, to := t.bounds(in)
	if to.less(from) {
		to = from
	}
	return cursor{t, from, to}
}

func (s spot) less(other spot) bool {
	if s.chunk != other.chunk {
		return s.chunk < other.chunk
	}
	if s.page != other.page {
		return s.page < other.page
	}
	return s.object < other.object
}

func (c *cursor) done() bool {
	return c.at == c.to
}

// next returns the object at the cursor and advances. The caller checks done first.
func (c *cursor) next() *Object {
	o := c.tree.object(c.at)
	c.at.object++
	c.settle()
	return o
}

// nextRun returns the rest of the cursor's page within the interval, and advances. The caller checks done first.
func (c *cursor) nextRun() Run {
	page := c.tree.page(c.at)
	run := Run{Page: page, From: c.at.object, To: page.Len()}
	if c.at.chunk == c.to.chunk && c.at.page == c.to.page {
		run.To = c.to.object
	}
	c.at.object = run.To
	c.settle()
	return run
}

// settle moves a cursor that is at the end of a page to the next page, because each location must have only one spot.
func (c *cursor) settle() {
	if c.at.object == c.tree.page(c.at).Len() {
		c.at = c.tree.following(c.at)
	}
}

func (t *tree) following(at spot) spot {
	if at.page+1 < len(t.chunks[at.chunk].pages) {
		return spot{at.chunk, at.page + 1, 0}
	}
	return spot{chunk: at.chunk + 1}
}
