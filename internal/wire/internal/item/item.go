package item

import "bytes"

// Item is one object as the upstream encoded it. Immutable. The zero Item is no object.
type Item struct {
	data  []byte // bytes, plain or packed
	by    *block // block of the packed bytes; nil if the item is not packed
	size  uint32 // length of the plain bytes
	marks Marks
}

// Span is the part of an item's bytes from Start to End-1.
type Span struct{ Start, End uint32 }

// Marks are the positions in an item's plain bytes that the encodings need to write responses.
type Marks struct {
	// Object is the end of the object, which starts at 0. Cells is the end of the cells of the object's Table row. They
	// follow the object. The remaining bytes are the conditions of the row.
	Object, Cells uint32
	// Rest is the position after the leading type meta of the object; 0 if the object does not start with type meta.
	Rest uint32
	// Metadata is the value of metadata. Version is the text of the resourceVersion in it.
	Metadata, Version Span
}

// New returns an item that retains data.
func New(data []byte, marks Marks) Item {
	return Item{data: data, size: uint32(len(data)), marks: marks}
}

// Size returns the length of the plain bytes.
func (it *Item) Size() int { return int(it.size) }

// Memory returns the number of bytes that the item's content takes in memory.
func (it *Item) Memory() int { return len(it.data) }

// Packed reports whether the item's bytes are compressed.
func (it *Item) Packed() bool { return it.by != nil }

// Holds reports whether a text occurs anywhere in the item, in any encoding. Use it only for texts that do not occur by
// chance, such as a UID.
func (it *Item) Holds(text string) bool {
	open := Open(it)
	defer open.Close()
	return bytes.Contains(open.Data(), []byte(text))
}

// Equal reports whether two items have the same content, packed or not.
func (it *Item) Equal(other *Item) bool {
	one, two := Open(it), Open(other)
	defer one.Close()
	defer two.Close()
	return it.marks == other.marks && bytes.Equal(one.Data(), two.Data())
}

// SameObject reports whether two items contain the same bytes of an object, packed or not. The cells of their Table
// rows may differ, because some cells contain ages.
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

func (it *Item) dictionary() *Dictionary {
	if it.by == nil {
		return nil
	}
	return it.by.dictionary
}

// MarksOf returns the marks of an item. The caller must not modify them.
func MarksOf(it *Item) *Marks { return &it.marks }

// Append appends the plain bytes of the item.
func Append(dst []byte, it *Item) []byte {
	if it.by == nil {
		return append(dst, it.data...)
	}
	return it.by.dictionary.unpack(dst, it)
}
