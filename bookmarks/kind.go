package bookmarks

// Kind is the kind of a bookmark.
type Kind int

const (
	// Plain is a bookmark with only a resourceVersion.
	Plain Kind = iota
	// InitialEventsEnd is a bookmark that also has the annotation k8s.io/initial-events-end: "true". It means that the
	// client has received all initial events (KEP-3157).
	InitialEventsEnd
)
