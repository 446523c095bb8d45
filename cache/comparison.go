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
	// ErrNoVersions says that more objects are gone than there are RVs at which that can be told.
	ErrNoVersions = errors.New("cache: there are fewer resourceVersions than deletions")
	// ErrManyChanges says that there are more changes than are kept for watchers (semantics 4.1): most would lose their
	// place.
	ErrManyChanges = errors.New("cache: more has changed than is kept")
)

// comparison is what a list says has happened since a State. Its changes are those of objects that the list has, each
// in the order of their RVs; deletions are to be told of objects that it has not, or has under another UID.
type comparison struct {
	changes   []difference
	deletions []deletion
}

// difference is one event of a gap. before is nil when the object is new, now is nil when it is gone.
type difference struct {
	rv          RV
	before, now *Object
}

// deletion is an object that is gone, and the RV up to which that has to be told.
type deletion struct {
	object *Object
	latest RV
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
	c, left := &comparison{}, list
	for was := range s.Objects(Span{}) {
		for len(left) > 0 && left[0].Key() < was.Key() {
			c.created(left[0])
			left = left[1:]
		}
		if len(left) == 0 || left[0].Key() != was.Key() {
			c.deletions = append(c.deletions, deletion{was, rv})
			continue
		}
		if err := c.both(s, from, was, left[0]); err != nil {
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
	c.changes = append(c.changes, difference{now.RV, nil, now})
}

// both compares an object that both have.
func (c *comparison) both(s *State, from RV, was, now *Object) error {
	switch {
	case was == now:
	case now.RV <= from:
		if now.RV != was.RV || !now.Item().SameObject(was.Item()) {
			return ErrOtherPast
		}
	case s.shape.UID(was.Item()) == s.shape.UID(now.Item()):
		c.changes = append(c.changes, difference{now.RV, was, now})
	default:
		c.deletions = append(c.deletions, deletion{was, now.RV - 1})
		c.created(now)
	}
	return nil
}

// verify refuses what the upstream cannot have written since from: each of its writes has an RV of its own.
func (c *comparison) verify(from, rv RV) error {
	last := from
	for _, d := range c.changes {
		if d.rv <= last || d.rv > rv {
			return ErrOtherPast
		}
		last = d.rv
	}
	return nil
}

// dated gives each deletion an RV and returns all events of the gap between from and rv in their order, each at an RV
// of its own. A deletion stands at the latest RV at which it can: the last one at rv, unless an object is there; that
// of an object which is there again, before it. There are enough RVs if each deletion was a write, as all are but those
// of leases that end.
func (c *comparison) dated(from, rv RV) ([]difference, error) {
	slices.SortStableFunc(c.deletions, func(a, b deletion) int { // as they are given RVs: from the end of the gap on
		return cmp.Or(cmp.Compare(b.latest, a.latest), strings.Compare(b.object.Key(), a.object.Key()))
	})
	events, taken, next := slices.Clone(c.changes), c.changes, rv
	for _, d := range c.deletions {
		next = min(next, d.latest)
		for {
			for len(taken) > 0 && taken[len(taken)-1].rv > next {
				taken = taken[:len(taken)-1]
			}
			if len(taken) == 0 || taken[len(taken)-1].rv < next {
				break
			}
			next--
		}
		if next <= from {
			return nil, ErrNoVersions
		}
		events = append(events, difference{next, d.object, nil})
		next--
	}
	slices.SortFunc(events, func(a, b difference) int { return cmp.Compare(a.rv, b.rv) })
	return events, nil
}
