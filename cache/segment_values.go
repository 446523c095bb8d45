package cache

import (
	"slices"

	"github.com/listfacade/listfacade/selectors"
)

// maxValueSets is the maximum number of valueSets of a segment. Clients can select by any number of labels.
const maxValueSets = 4

// valueSet contains the hashes of the values of one property in segmentSize events of history. Like an anchor, it only
// proposes events; the predicate decides (I9). A watch from an old version therefore compares few events with its
// predicate. With 128 hashes in 4096 bits, the set wrongly reports about 3% of the other values as contained.
type valueSet struct {
	keys     bool               // whether the values are the keys of objects
	property selectors.Property // property of the values, unless they are keys
	bits     [64]uint64
}

func (s *valueSet) add(value string) {
	hash := hashOf(value)
	s.bits[hash>>6&63] |= 1 << (hash & 63)
}

func (s *valueSet) has(value string) bool {
	hash := hashOf(value)
	return s.bits[hash>>6&63]&(1<<(hash&63)) != 0
}

// hashOf returns the FNV-1a hash. Collisions that a client provokes only slow down watches from old versions.
func hashOf(value string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(value) {
		hash = (hash ^ uint64(value[i])) * 1099511628211
	}
	return hash
}

// lacks reports whether the full segment that begins at position seq certainly has no event for feeds with the given
// anchor. It returns false if the segment has no set for the anchor.
func (h *history) lacks(seq int64, at *anchor) bool {
	w := h.held.Load()
	if seq < w.first || at.by != byKey && at.by != byValue {
		return false
	}
	set := w.segments[(seq-w.first)/segmentSize].valuesOf(at)
	if set == nil {
		return false
	}
	return !slices.ContainsFunc(at.values, set.has)
}

// valuesOf returns the set for an anchor, or nil if there are too many sets already. The segment must be full.
func (s *segment) valuesOf(at *anchor) *valueSet {
	for i := range s.values {
		set := s.values[i].Load()
		if set == nil {
			made := s.makeValues(at)
			if s.values[i].CompareAndSwap(nil, made) {
				return made
			}
			set = s.values[i].Load()
		}
		if set.keys == (at.by == byKey) && set.property == at.property {
			return set
		}
	}
	return nil
}

func (s *segment) makeValues(at *anchor) *valueSet {
	set := &valueSet{keys: at.by == byKey, property: at.property}
	for i := range s.entries {
		for _, o := range []*Object{s.entries[i].before, s.entries[i].now} {
			switch {
			case o == nil:
			case set.keys:
				set.add(o.Key())
			default:
				value, _ := set.property.Of(&o.Attributes)
				set.add(value)
			}
		}
	}
	return set
}
