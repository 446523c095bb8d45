package cache

import (
	"cmp"
	"slices"
	"strings"

	"github.com/listfacade/listfacade/internal/wire"
)

// State is every object of a lane at one RV: complete up to it (I10), immutable (I2), a snapshot for as long as a
// reader keeps it.
type State struct {
	epoch   *epoch
	rv      RV
	seq     int64 // events of the epoch that led here: the position in history of the next one
	shape   wire.Shape
	size    int64 // bytes of all objects
	vouched bool  // rv is above what was written: see Lane.Vouch
	partial bool  // further deletions may be at rv: as written only, never shown to readers (Lane.Apply)
	objects tree
	indexes []index // first those of Options.Indexes, then what the lane has built by itself
}

// newState returns the first State of an epoch. Of objects with the same key, which a paginated upstream list may
// bring, the newest stands.
func newState(e *epoch, rv RV, shape wire.Shape, objects []*Object) *State {
	sorted := slices.Clone(objects)
	slices.SortFunc(sorted, func(a, b *Object) int {
		return cmp.Or(strings.Compare(a.Key(), b.Key()), cmp.Compare(b.RV, a.RV)) // newest first: Compact keeps the first
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

// saved returns how many bytes packing saves of the State's objects.
func (s *State) saved() (bytes int64) {
	for o := range s.Objects(Span{}) {
		bytes += o.saved()
	}
	return bytes
}

// RV returns the RV at which the State is complete, the one that an answer carries (I10).
func (s *State) RV() RV { return s.rv }

// Shape returns what answers of the lane's kind look like.
func (s *State) Shape() wire.Shape { return s.shape }

// Len returns how many objects the State has.
func (s *State) Len() int { return s.objects.count }

// Get returns the object with a key.
func (s *State) Get(key string) (*Object, bool) {
	at, found := s.objects.find(position{key: key})
	if !found {
		return nil, false
	}
	return s.objects.object(at), true
}

// after returns the State that one event leads to: before (nil when new) replaced by now (nil when deleted).
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

// at returns the same content under another RV: no event lies between the two, and none is missing.
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

// pathBytes is what one edit copies, about: in each tree the slice of chunks, a chunk and a page, and their headers.
func (s *State) pathBytes() int64 {
	const pointer, headers = 8, 160
	bytes := int64(headers)
	for range 1 + len(s.indexes) {
		bytes += int64(pointer*(len(s.objects.chunks)+2*fill) + headers)
	}
	return bytes
}
