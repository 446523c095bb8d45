package selectors

import "iter"

// Label is one entry of metadata.labels.
type Label struct {
	Key, Value string
}

// LabelSet contains an object's labels, sorted bytewise by key, without duplicate keys. It implements labels.Labels of
// apimachinery. Objects have about a dozen labels, for which a linear search is faster than a binary search.
type LabelSet struct {
	keys   string // a list of texts (texts.go)
	values string // a list of texts parallel to keys
}

// All yields the labels in key order.
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

// lookupLong continues Lookup at the first key that is a long text (longText).
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

// Get returns the value of key, or "" if the set lacks it.
func (s LabelSet) Get(key string) string {
	value, _ := s.Lookup(key)
	return value
}
