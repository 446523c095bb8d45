package cache

import (
	"cmp"
	"slices"
	"strings"

	"github.com/listfacade/listfacade/internal/wire"
)

// State contains every object of a lane at one RV. It is complete up to that RV (I10) and immutable (I2). A reader may
// keep it for any time.
type State struct {
	epoch   *epoch
	rv      RV
	seq     int64 // number of the epoch's events up to this State: the position in history of the next event
	shape   wire.Shape
	size    int64 // bytes of all objects
	vouched bool  // whether rv is above the written RV (Lane.Vouch)
	partial bool  // whether more deletions may come at rv; false in all States that readers see (Lane.Apply)
	objects tree
	indexes []index // indexes of Options.Indexes, then lane-built indexes
}

// newState returns the first State of an epoch. Of several objects with one key, it keeps the newest.
func newState(e *epoch, rv RV, shape wire.Shape, objects []*Object) *State {
	sorted := slices.Clone(objects)
	slices.SortFunc(sorted, func(a, b *Object) int {
		return cmp.Or(strings.Compare(a.Key(), b.Key()), cmp.Compare(b.RV, a.RV)) // CompactFunc keeps the first of a key
	})
	sorted = slices.CompactFunc(sorted, func(a, b *Object) bool { return a.Key() == b.Key() })
	s := &State{epoch: e, rv: rv, shape: shape, objects: newTree(nil, sorted)}
	for _, o := range sorted {
		s.size += int64(o.Size())
	}
	for _, index := range e.options.Indexes {
		s.indexes = append(s.indexes, newIndex(index, sorted))
	}
	return s
}

func (s *State) saved() (bytes int64) {
	for o := range s.Objects(Span{}) {
		bytes += o.saved()
	}
	return bytes
}

// RV returns the RV at which the State is complete, which the response carries (I10).
func (s *State) RV() RV { return s.rv }

// Shape returns the shape of responses for the lane's kind.
func (s *State) Shape() wire.Shape { return s.shape }

// Len returns the number of objects.
func (s *State) Len() int { return s.objects.count }

// Get returns the object with a key, and whether there is one.
func (s *State) Get(key string) (*Object, bool) {
	at, found := s.objects.find(position{key: key})
	if !found {
		return nil, false
	}
	return s.objects.object(at), true
}

// after returns the State after one event: before (nil if the object is new) replaced by now (nil if it is deleted).
func (s *State) after(rv RV, before, now *Object) *State {
	next := *s
	next.rv = rv
	next.seq++
	next.partial = now == nil && s.epoch.options.ReadFromEtcd
	if now != nil {
		next.objects = s.objects.put(now)
		next.size += int64(now.Size())
	} else {
		next.objects = s.objects.without(before)
	}
	if before != nil {
		next.size -= int64(before.Size())
	}
	next.indexes = reindexed(s.indexes, before, now)
	return &next
}

// at returns a State with the same content, complete at another RV. The caller ensures that no event is between the two
// RVs.
func (s *State) at(rv RV) *State {
	if s.rv == rv && !s.partial {
		return s
	}
	same := *s
	same.rv, same.partial = rv, false
	return &same
}

// whole returns the RV up to which the State has every event.
func (s *State) whole() RV {
	if s.partial {
		return s.rv - 1
	}
	return s.rv
}

// pathBytes returns about how many bytes one edit copies.
func (s *State) pathBytes() int64 {
	const pointer, headers = 8, 160
	bytes := int64(headers)
	for range 1 + len(s.indexes) {
		bytes += int64(pointer*(len(s.objects.chunks)+2*fill) + headers)
	}
	return bytes
}
