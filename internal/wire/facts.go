package wire

// Path is the location of the value of a selectable field.
type Path struct {
	// Alternatives are dotted paths in which array indexes are numbers. The first value that is not empty counts.
	Alternatives []string
	// Default is the value when all alternatives are empty.
	Default string
}

// Pair is a label's key and value.
type Pair struct{ Key, Value string }

// Facts are the values that the cache sorts, selects and indexes an object by. They do not alias the object's bytes.
type Facts struct {
	Namespace, Name, UID, ResourceVersion string
	Labels                                []Pair   // sorted by key
	Fields                                []string // in the order of the requested paths
}
