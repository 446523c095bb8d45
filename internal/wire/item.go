package wire

import "github.com/listfacade/listfacade/internal/wire/internal/item"

// Item is one object as the upstream encoded it. Immutable. Only encodings read its content. The cache uses methods of
// Item, and the Shape of the kind.
type Item = item.Item

// Dictionary is the compression dictionary of one kind's items. Every Shape accepts packed and unpacked items, and
// produces the same bytes from both.
type Dictionary = item.Dictionary

// Packer packs items: it compresses them with a dictionary.
type Packer = item.Packer

// BlockSize is the size in bytes of a memory block that packed items share.
const BlockSize = item.BlockSize

// NewDictionary makes a dictionary from a few hundred items of a kind. It fails when the items have nothing in common.
func NewDictionary(samples []*Item) (*Dictionary, error) { return item.NewDictionary(samples) }

// ErrDamaged is returned when stored bytes are not an item or a dictionary.
var ErrDamaged = item.ErrDamaged

// AppendStored appends an item in the format for disks: its bytes as they are in memory, and the number of its
// dictionary. The caller numbers the dictionaries from 1. The number is 0 if the item is not packed. Reader.Stored
// reads this format.
func AppendStored(dst []byte, it *Item, dictionary int) []byte {
	return item.AppendStored(dst, it, dictionary)
}

// DictionaryOf returns the dictionary of a packed item; nil if it is not packed.
func DictionaryOf(it *Item) *Dictionary { return item.DictionaryOf(it) }

// ReadDictionary reads a dictionary that Dictionary.AppendStored appended. It returns ErrDamaged for other bytes.
func ReadDictionary(stored []byte) (*Dictionary, error) { return item.ReadDictionary(stored) }

// OpenBytes returns the total size in bytes of the buffers of packed items that are being read.
func OpenBytes() int64 { return item.OpenBytes() }

// Bookmark contains the bookmarks of a kind. Shape.WithResourceVersion sets their resourceVersion.
type Bookmark struct {
	// Plain has only a resourceVersion.
	Plain Item
	// InitialEventsEnd also has the annotation k8s.io/initial-events-end (KEP-3157).
	InitialEventsEnd Item
}
