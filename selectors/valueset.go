package selectors

import (
	"slices"
	"strconv"
)

// valueSet are the values that a requirement names. A client may name tens of thousands, and every event asks for one.
type valueSet struct {
	sorted []string            // each once
	lookup map[string]struct{} // nil when there are few, which are compared sooner than one is hashed
}

// fewValues is up to how many values are compared one by one.
const fewValues = 8

// newValueSet makes a set of values, which it takes over.
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

// intersection returns the values that are in both.
func (s *valueSet) intersection(other *valueSet) valueSet {
	return newValueSet(slices.DeleteFunc(slices.Clone(s.sorted), func(value string) bool { return !other.has(value) }))
}

// appendTo writes the values, each quoted and behind a space.
func (s *valueSet) appendTo(dst []byte) []byte {
	for _, value := range s.sorted {
		dst = append(dst, ' ')
		dst = strconv.AppendQuote(dst, value)
	}
	return dst
}
