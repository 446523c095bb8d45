package cache

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Reasons why a list cannot be replayed as events after the State. Each requires a new epoch.
var (
	// ErrSetBack is returned when the list's RV is below an RV that readers have seen.
	ErrSetBack = errors.New("cache: list is older than the lane")
	// ErrOtherPast is returned when no sequence of writes leads from the State to the list. The upstream's history then
	// differs from the events that the lane received.
	ErrOtherPast = errors.New("cache: list contradicts the history of the lane")
	// ErrManyChanges is returned when there are more changes than kube-apiserver's watch cache keeps (semantics 4.1).
	// Most watchers would lose their position.
	ErrManyChanges = errors.New("cache: list has more changes than kube-apiserver's watch cache keeps")
)

// comparison contains the differences between a State and a later list. The deletions are the objects that the list
// lacks or has with another UID, in key order. The changes are the list's new or changed objects, in RV order.
type comparison struct {
	state     *State
	deletions []*Object
	changes   []difference
}

type difference struct {
	rv          RV
	before, now *Object
	audience    audience
}

// compare finds the differences between s and a list at rv. If the RV of a list's object is not above from, s must
// contain the same object, byte for byte. A client that has the content of s and receives all differences therefore has
// the content of the list, whatever happened upstream in between.
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

// verify rejects differences that the upstream cannot have written between the RVs from and rv. Each write has its own
// RV. Only the deletions that etcd makes when a lease ends share one RV.
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

// exact reports whether at most one write happened between the RVs from and rv. The only difference, if any, is then
// the upstream's event.
func (c *comparison) exact(from, rv RV) bool {
	return rv-from <= 1 && len(c.deletions)+len(c.changes) <= 1
}

// events returns the differences in the order in which watchers receive them. The RV at which an object was deleted or
// left a selector is unknown, because the list may show a later change. All deletions therefore have one RV and come
// before the changes. A client that received a change has then received every deletion.
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
			all = append(all, difference{first, d.before, d.now, toFormerSelectors})
		}
	}
	for _, d := range c.changes {
		if d.mayLeave() {
			d.audience = toOtherSelectors
		}
		all = append(all, d)
	}
	return all
}

// mayLeave reports whether a predicate may select the object before the change but not after the change.
func (d *difference) mayLeave() bool {
	return d.before != nil && d.before.Attributes != d.now.Attributes
}
