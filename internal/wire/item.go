package wire

import "github.com/listfacade/listfacade/internal/wire/internal/item"

// Item is one object as the upstream encoded it, immutable. What is in it is known to the encodings only: the cache
// asks how large it is, and everything else is asked of the Shape of its kind.
type Item = item.Item

// Dictionary is what items of a kind have in common, against which they are kept compressed. Every Shape takes items
// that are packed and items that are not, and answers with the same bytes.
type Dictionary = item.Dictionary

// Packer packs items against a dictionary.
type Packer = item.Packer

// BlockSize is how many bytes of memory packed items share that were laid side by side.
const BlockSize = item.BlockSize

// NewDictionary makes a dictionary of some hundred items of a kind. It fails when they have nothing in common.
func NewDictionary(samples []*Item) (*Dictionary, error) { return item.NewDictionary(samples) }

// OpenBytes is how many bytes of memory items take at the moment that are read and are kept packed, in the whole
// process.
func OpenBytes() int64 { return item.OpenBytes() }

// Bookmark is what bookmarks of a kind look like, at any resourceVersion: Shape.WithResourceVersion puts another one
// in.
type Bookmark struct {
	// Plain has a resourceVersion and nothing else.
	Plain Item
	// InitialEventsEnd has the annotation k8s.io/initial-events-end, too (KEP-3157).
	InitialEventsEnd Item
}
