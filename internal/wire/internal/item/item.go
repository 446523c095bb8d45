package item

import "bytes"

// Item is one object as the upstream encoded it. Immutable. The zero Item is no object.
type Item struct {
	data  []byte // as they came, or packed
	by    *block // that it is packed in; nil when it is not
	size  uint32 // of the bytes as they came
	marks Marks
}

// Span is a part of an item's bytes: Start up to but not including End.
type Span struct{ Start, End uint32 }

// Marks say where in an item's bytes lies what answers are spliced from.
type Marks struct {
	// Object and Cells are where the object ends, which comes first, and where the cells of its Table row end, which
	// follow it. What is behind them are the row's conditions.
	Object, Cells uint32
	// Rest is where the object goes on behind its leading type meta; 0 when it does not begin with that.
	Rest uint32
	// Metadata is the value of metadata, Version the text of its resourceVersion.
	Metadata, Version Span
}

// New makes an item, which keeps data.
func New(data []byte, marks Marks) Item {
	return Item{data: data, size: uint32(len(data)), marks: marks}
}

// Size is how many bytes the item has for who reads it, packed or not.
func (it *Item) Size() int { return int(it.size) }

// Memory is how many bytes of memory the item's bytes take.
func (it *Item) Memory() int { return len(it.data) }

// Packed tells whether the item's bytes are kept compressed.
func (it *Item) Packed() bool { return it.by != nil }

// Holds tells whether a text stands anywhere in the object, in any encoding. It is for texts that stand nowhere by
// chance, such as a UID.
func (it *Item) Holds(text string) bool {
	open := Open(it)
	defer open.Close()
	return bytes.Contains(open.Data(), []byte(text))
}

// Equal tells whether two items are the same, packed or not.
func (it *Item) Equal(other *Item) bool {
	one, two := Open(it), Open(other)
	defer one.Close()
	defer two.Close()
	return it.marks == other.marks && bytes.Equal(one.Data(), two.Data())
}

// SameObject tells whether two items are one object in the same bytes, packed or not. The cells of their Table rows may
// differ: some grow old.
func (it *Item) SameObject(other *Item) bool {
	if it.marks.Object != other.marks.Object {
		return false
	}
	if it.dictionary() == other.dictionary() && bytes.Equal(it.data, other.data) {
		return true
	}
	one, two := Open(it), Open(other)
	defer one.Close()
	defer two.Close()
	return bytes.Equal(one.Data()[:it.marks.Object], two.Data()[:it.marks.Object])
}

// dictionary is what the item is packed against; nil when it is not.
func (it *Item) dictionary() *Dictionary {
	if it.by == nil {
		return nil
	}
	return it.by.dictionary
}

// MarksOf says what lies where in an item's bytes; not to be changed.
func MarksOf(it *Item) *Marks { return &it.marks }

// Append appends the item's bytes.
func Append(dst []byte, it *Item) []byte {
	if it.by == nil {
		return append(dst, it.data...)
	}
	return it.by.dictionary.unpack(dst, it)
}
