package wire

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Shape is what answers about one kind look like in one encoding, as the upstream taught it. Immutable; safe for
// concurrent use.
type Shape interface {
	// Prints tells whether objects can be answered as rows of a Table that are exact.
	Prints() bool
	// List is a list in a form, Listed, Partial or Row; now is what ages in it are counted to.
	List(f Representation, now time.Time) ListStyle
	// AppendObject appends a body of one object in a form, Whole, Partial or Row; now is what its ages are counted to.
	AppendObject(dst []byte, f Representation, it *Item, now time.Time) []byte
	// Framer writes the frames of one watch in a form, Whole, Partial or Row.
	Framer(f Representation) Framer
	// WithResourceVersion is an object with another metadata.resourceVersion: what a watcher is told of an object that
	// left its selector is the previous content at the version of the change (semantics 4.4).
	WithResourceVersion(it *Item, rv string) Item
	// UID is an object's metadata.uid; empty when it has none.
	UID(it *Item) string

	// WithColumns is the shape with a Table's columns, which are copied.
	WithColumns(columns []byte) (Shape, error)
	// Reprinted tells whether a Table's columns are others than those that the shape has.
	Reprinted(columns []byte) bool
	// Bookmark is the least that a bookmark of the kind has: type meta and metadata.
	Bookmark() Bookmark
}

// Framer writes the frames of one watch (semantics 4.6, 4.8). Used by one goroutine.
type Framer interface {
	// AppendEvent appends an event of a type about an object.
	AppendEvent(dst []byte, eventType string, it *Item) []byte
	// AppendBookmark appends a BOOKMARK; the item is a Bookmark's at the version that it tells.
	AppendBookmark(dst []byte, it *Item) []byte
	// AppendInitialEventsEnd appends the BOOKMARK after initial events.
	AppendInitialEventsEnd(dst []byte, it *Item) []byte
	// AppendError appends an ERROR, which no form touches.
	AppendError(dst []byte, status *metav1.Status) []byte
}
