package item

import "bytes"

// Item is one object as the upstream encoded it. Immutable. The zero Item is no object.
type Item struct {
	data  []byte
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
func New(data []byte, marks Marks) Item { return Item{data: data, marks: marks} }

// Size is the memory in bytes that the item's bytes take.
func (it *Item) Size() int { return len(it.data) }

// Holds tells whether a text stands anywhere in the object, in any encoding. It is for texts that stand nowhere by
// chance, such as a UID.
func (it *Item) Holds(text string) bool { return bytes.Contains(it.data, []byte(text)) }

// Data is an item's bytes; not to be changed.
func Data(it *Item) []byte { return it.data }

// MarksOf says what lies where in them; not to be changed.
func MarksOf(it *Item) *Marks { return &it.marks }
