package wire

import "github.com/listfacade/listfacade/internal/wire/internal/item"

// Item is one object as the upstream encoded it, immutable. What is in it is known to the encodings only: the cache
// asks how large it is, and everything else is asked of the Shape of its kind.
type Item = item.Item

// Bookmark is what bookmarks of a kind look like, at any resourceVersion: Shape.WithResourceVersion puts another one
// in.
type Bookmark struct {
	// Plain has a resourceVersion and nothing else.
	Plain Item
	// InitialEventsEnd has the annotation k8s.io/initial-events-end, too (KEP-3157).
	InitialEventsEnd Item
}
