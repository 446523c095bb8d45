package wire

import "github.com/listfacade/listfacade/internal/wire/internal/item"

// Item is one object as the upstream encoded it. Immutable. Only encodings read its content. The cache uses the Shape
// of the kind for everything except the size.
type Item = item.Item

// Dictionary is the compression dictionary of one kind's items. Every Shape accepts packed and unpacked items, and
// produces the same bytes from both.
type Dictionary = item.Dictionary

// Packer packs items against a dictionary.
type Packer = item.Packer

// BlockSize is the size in bytes of a memory block that packed items share.
const BlockSize = item.BlockSize

// NewDictionary makes a dictionary from a few hundred items of a kind. It fails when the items have nothing in common.
func NewDictionary(samples []*Item) (*Dictionary, error) { return item.NewDictionary(samples) }

// OpenBytes returns the total size in bytes of the buffers into which packed items are currently unpacked for reading.
func OpenBytes() int64 { return item.OpenBytes() }

// Bookmark contains the bookmarks of a kind, at some resourceVersion. Shape.WithResourceVersion replaces the version.
type Bookmark struct {
	// Plain has only a resourceVersion.
	Plain Item
	// InitialEventsEnd also has the annotation k8s.io/initial-events-end (KEP-3157).
	InitialEventsEnd Item
}
