package selectors

import "iter"

// Label is one entry of metadata.labels.
type Label struct {
	Key, Value string
}

// LabelSet is an object's labels, sorted bytewise by key, each key once. It implements apimachinery's labels.Labels. At
// the dozen entries that objects carry, it is searched sooner from its beginning than a sorted slice by halves.
type LabelSet struct {
	keys   string // texts
	values string // texts, as many
}

// All yields the labels in the order of their keys.
func (s LabelSet) All() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		var key, value string
		for keys, values := s.keys, s.values; keys != ""; {
			key, keys = cutText(keys)
			value, values = cutText(values)
			if !yield(key, value) {
				return
			}
		}
	}
}

// Lookup returns the value of key, and whether the set has it.
func (s LabelSet) Lookup(key string) (value string, exists bool) {
	position, start := 0, 0
	for start < len(s.keys) && s.keys[start] < longText {
		end := start + 1 + int(s.keys[start])
		if s.keys[start+1:end] == key {
			return textAt(s.values, position), true
		}
		position, start = position+1, end
	}
	return s.lookupLong(key, position, start)
}

// lookupLong is Lookup from the first key that is long on.
func (s LabelSet) lookupLong(key string, position, start int) (value string, exists bool) {
	var has string
	for keys := s.keys[start:]; keys != ""; position++ {
		if has, keys = cutText(keys); has == key {
			return textAt(s.values, position), true
		}
	}
	return "", false
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
