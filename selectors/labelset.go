package selectors

import "iter"

// Label is one entry of metadata.labels.
type Label struct {
	Key, Value string
}

// LabelSet is an object's labels, sorted bytewise by key, each key once. It implements apimachinery's labels.Labels.
type LabelSet struct{ sorted []Label }

// All yields the labels in the order of their keys.
func (s LabelSet) All() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for i := range s.sorted {
			if !yield(s.sorted[i].Key, s.sorted[i].Value) {
				return
			}
		}
	}
}

// Lookup returns the value of key, and whether the set has it.
func (s LabelSet) Lookup(key string) (value string, exists bool) {
	low, high := 0, len(s.sorted)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if s.sorted[middle].Key < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(s.sorted) || s.sorted[low].Key != key {
		return "", false
	}
	return s.sorted[low].Value, true
}

// Has reports whether the set has key.
func (s LabelSet) Has(key string) bool {
	_, exists := s.Lookup(key)
	return exists
}

// Get returns the value of key, empty when the set lacks it.
func (s LabelSet) Get(key string) string {
	value, _ := s.Lookup(key)
	return value
}
