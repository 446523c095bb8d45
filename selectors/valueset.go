package selectors

import (
	"slices"
	"strconv"
)

// valueSet contains the values of a requirement. A client may send tens of thousands of values.
type valueSet struct {
	sorted []string            // values in order, without duplicates
	lookup map[string]struct{} // the same values, for hashing; nil if at most fewValues exist
}

// fewValues is the maximum number of values that are compared one by one, which is faster than hashing a few values.
const fewValues = 8

// newValueSet returns a set of values. The caller must not use the slice afterwards.
func newValueSet(values []string) valueSet {
	slices.Sort(values)
	s := valueSet{sorted: slices.Clip(slices.Compact(values))}
	if len(s.sorted) > fewValues {
		s.lookup = make(map[string]struct{}, len(s.sorted))
		for _, value := range s.sorted {
			s.lookup[value] = struct{}{}
		}
	}
	return s
}

func (s *valueSet) has(value string) bool {
	if s.lookup == nil {
		return slices.Contains(s.sorted, value)
	}
	_, ok := s.lookup[value]
	return ok
}

func (s *valueSet) intersection(other *valueSet) valueSet {
	return newValueSet(slices.DeleteFunc(slices.Clone(s.sorted), func(value string) bool { return !other.has(value) }))
}

// appendTo appends the values, each quoted and after a space.
func (s *valueSet) appendTo(dst []byte) []byte {
	for _, value := range s.sorted {
		dst = append(dst, ' ')
		dst = strconv.AppendQuote(dst, value)
	}
	return dst
}
