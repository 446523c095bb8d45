package selectors

// Attributes is all that a Predicate looks at in an object.
type Attributes struct {
	Namespace string   // metadata.namespace, empty for objects of a cluster-scoped kind
	Name      string   // metadata.name
	Labels    LabelSet // metadata.labels
	Fields    []string // values of the kind's selectable fields, parallel to Kind.Fields
}

// Label is one entry of metadata.labels.
type Label struct {
	Key, Value string
}

// LabelSet is an object's labels, sorted bytewise by key, each key once. It implements apimachinery's labels.Labels.
// A sorted slice costs a third of a map's memory and is as fast to search at the dozen entries that objects carry.
type LabelSet []Label

// Lookup returns the value of key, and whether the set has it.
func (s LabelSet) Lookup(key string) (value string, exists bool) {
	low, high := 0, len(s)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if s[middle].Key < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(s) || s[low].Key != key {
		return "", false
	}
	return s[low].Value, true
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
