package wire

// Path says where one selectable field's value lies.
type Path struct {
	// Alternatives are dotted paths with array indexes as numbers; the first with a value that is not empty counts.
	Alternatives []string
	// Default is the value when none has one.
	Default string
}

// Pair is a label's key and value.
type Pair struct{ Key, Value string }

// Facts is what is read out of an object: all that the cache sorts, selects and indexes by. It aliases no bytes of the
// object.
type Facts struct {
	Namespace, Name, ResourceVersion string
	Labels                           []Pair   // sorted by key
	Fields                           []string // parallel to the paths that were asked for
}
