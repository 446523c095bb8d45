package cache

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Why a list cannot be told as what happened since the State. Each is a reason for a new epoch.
var (
	// ErrSetBack says that the list is of an earlier RV than readers have seen.
	ErrSetBack = errors.New("cache: the list is from before the State")
	// ErrOtherPast says that the list has something at or below the State's RV that the State has not, or has in
	// another way: the upstream's past is not the one that was told.
	ErrOtherPast = errors.New("cache: the list has another past than the State")
	// ErrManyChanges says that there are more changes than are kept for watchers (semantics 4.1): most would lose their
	// place.
	ErrManyChanges = errors.New("cache: more has changed than is kept")
)

// comparison is what a list says has happened since a State: deletions of objects that it has not, or has under another
// UID, in the order of their keys, and changes of those that it has, in the order of their RVs.
type comparison struct {
	state     *State
	deletions []*Object
	changes   []difference
}

// difference is one event of a gap, in its place among the others. before is nil when the object is new, now is nil
// when it is gone.
type difference struct {
	rv          RV
	before, now *Object
	tells       audience
}

// compare finds what led from s, of which readers have seen everything up to from, to a list at rv. What is not told
// is the same in both, to the byte: so whoever holds what s has, and is told of everything else, holds what the list
// has, whatever became of the upstream meanwhile.
func (s *State) compare(from, rv RV, list []*Object) (*comparison, error) {
	if rv < from {
		return nil, ErrSetBack
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *Object) int { return strings.Compare(a.Key(), b.Key()) })
	c, left := &comparison{state: s}, list
	for was := range s.Objects(Span{}) {
		for len(left) > 0 && left[0].Key() < was.Key() {
			c.created(left[0])
			left = left[1:]
		}
		if len(left) == 0 || left[0].Key() != was.Key() {
			c.deletions = append(c.deletions, was)
			continue
		}
		if err := c.both(from, was, left[0]); err != nil {
			return nil, err
		}
		left = left[1:]
	}
	for _, now := range left {
		c.created(now)
	}
	slices.SortFunc(c.changes, func(a, b difference) int { return cmp.Compare(a.rv, b.rv) })
	return c, c.verify(from, rv)
}

func (c *comparison) created(now *Object) {
	c.changes = append(c.changes, difference{now.RV, nil, now, toAll})
}

// both compares an object that both have.
func (c *comparison) both(from RV, was, now *Object) error {
	switch {
	case was == now:
	case now.RV <= from:
		if now.RV != was.RV || !now.Item().SameObject(was.Item()) {
			return ErrOtherPast
		}
	case c.state.shape.UID(was.Item()) == c.state.shape.UID(now.Item()):
		c.changes = append(c.changes, difference{now.RV, was, now, toAll})
	default:
		c.deletions = append(c.deletions, was)
		c.created(now)
	}
	return nil
}

// verify refuses what the upstream cannot have written since from: each of its writes has an RV of its own, but for the
// deletions of a lease that ends.
func (c *comparison) verify(from, rv RV) error {
	last := from
	for _, d := range c.changes {
		if d.rv <= last || d.rv > rv {
			return ErrOtherPast
		}
		last = d.rv
	}
	if rv == from && len(c.deletions) > 0 && !c.state.partial {
		return ErrOtherPast
	}
	return nil
}

// exact tells whether the gap between from and rv has room for no other events than were found: there was one write, or
// none.
func (c *comparison) exact(from, rv RV) bool {
	return rv-from <= 1 && len(c.deletions)+len(c.changes) <= 1
}

// events returns what was found in the order in which it is told. Nobody knows when an object went, or left a selector:
// the change that the list has may be a later one. So all of these come first: whoever was told of any change has been
// told of them. first is the RV at which they stand among the events.
func (c *comparison) events(from, first, rv RV) []difference {
	if c.exact(from, rv) {
		if len(c.deletions) > 0 {
			return []difference{{rv, c.deletions[0], nil, toAll}}
		}
		return c.changes
	}
	all := make([]difference, 0, len(c.deletions)+len(c.changes))
	for _, gone := range c.deletions {
		all = append(all, difference{first, gone, nil, toAll})
	}
	for _, d := range c.changes {
		if d.mayLeave() {
			all = append(all, difference{first, d.before, d.now, toThoseItLeaves})
		}
	}
	for _, d := range c.changes {
		if d.mayLeave() {
			d.tells = toOthers
		}
		all = append(all, d)
	}
	return all
}

// mayLeave tells whether some predicates may select what the object was, and not what it is.
func (d *difference) mayLeave() bool {
	return d.before != nil && d.before.Attributes != d.now.Attributes
}
