package bookmarks

// Kind tells the two kinds of bookmark apart.
type Kind int

const (
	// Plain carries a resourceVersion and nothing else.
	Plain Kind = iota
	// InitialEventsEnd also carries the annotation k8s.io/initial-events-end: "true", which tells a client that it has
	// the full state (KEP-3157).
	InitialEventsEnd
)
