package wire

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Shape writes the responses about one kind in one encoding. Immutable; safe for concurrent use.
type Shape interface {
	// Prints reports whether exact Table rows of the objects are available.
	Prints() bool
	// List returns the style of a list in representation Listed, Partial or Row. Ages are relative to now.
	List(f Representation, now time.Time) ListStyle
	// AppendObject appends a body of one object in representation Whole, Partial or Row. Ages are relative to now.
	AppendObject(dst []byte, f Representation, it *Item, now time.Time) []byte
	// Framer returns a writer for the frames of one watch in representation Whole, Partial or Row.
	Framer(f Representation) Framer
	// WithResourceVersion returns an object with another metadata.resourceVersion. When an object leaves a watcher's
	// selector, the watcher receives the previous content at the version of the change (semantics 4.4).
	WithResourceVersion(it *Item, rv string) Item
	// UID returns the metadata.uid of an object; empty when it has none.
	UID(it *Item) string

	// WithColumns returns the shape with the columns of a Table. It copies the columns.
	WithColumns(columns []byte) (Shape, error)
	// WithClock returns a shape whose ages are relative to now() in all responses. now must be safe for concurrent use.
	WithClock(now func() time.Time) Shape
	// Columns returns the columns as the upstream wrote them; nil if they are unknown. The caller must not modify them.
	Columns() []byte
	// Reprinted reports whether the columns of a Table differ from the shape's columns. It returns false if either are
	// unknown.
	Reprinted(columns []byte) bool
	// Bookmark returns a minimal bookmark of the kind: type meta and metadata.
	Bookmark() Bookmark
}

// Framer writes the frames of one watch (semantics 4.6, 4.8). Used by one goroutine.
type Framer interface {
	AppendEvent(dst []byte, eventType string, it *Item) []byte
	// AppendBookmark appends a BOOKMARK. The item comes from a Bookmark, and has the version to send.
	AppendBookmark(dst []byte, it *Item) []byte
	AppendInitialEventsEnd(dst []byte, it *Item) []byte
	// AppendError appends an ERROR, which is the same in all representations.
	AppendError(dst []byte, status *metav1.Status) []byte
}
