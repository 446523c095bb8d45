package wire

import (
	"strings"
	"time"
)

// FrameOptions say what a watch's frames hold.
type FrameOptions struct {
	Form    FrameForm
	Meta    MetaVersion // of a transformed form
	Include Include     // of FormTable
}

// FrameForm is the form of the object in a watch's frames.
type FrameForm int

const (
	// FormObject frames hold objects as they are.
	FormObject FrameForm = iota
	// FormTable frames hold Tables with one row.
	FormTable
	// FormPartial frames hold PartialObjectMetadata.
	FormPartial
)

// Framer writes the frames of one watch (semantics 4.6, 4.8). Used by one goroutine.
type Framer struct {
	shape   *Shape
	options FrameOptions
	columns []byte // of the next Table: the kind's on the first frame, null from then on
}

// NewFramer makes the framer of a watch of a shape's kind.
func NewFramer(shape *Shape, o FrameOptions) *Framer {
	return &Framer{shape: shape, options: o, columns: shape.RawColumns}
}

// AppendObject appends an event about an object.
func (f *Framer) AppendObject(dst []byte, event string, it Item) []byte {
	return f.append(dst, event, it, f.shape.Ages, f.options.Include)
}

// AppendBookmark appends a BOOKMARK with the bookmark's object and cells as an item; its cells never age.
func (f *Framer) AppendBookmark(dst []byte, it Item) []byte {
	return f.append(dst, "BOOKMARK", f.printed(it), nil, f.options.Include)
}

// AppendInitialEnd appends the BOOKMARK after initial events. Its Table row always has an object, since the annotation is
// what the client waits for (semantics 4.8).
func (f *Framer) AppendInitialEnd(dst []byte, it Item) []byte {
	include := f.options.Include
	if include == IncludeNone {
		include = IncludeMetadata
	}
	return f.append(dst, "BOOKMARK", f.printed(it), nil, include)
}

// printed gives a bookmark that was never seen as a row the cells of a custom resource's: no name and nothing else.
func (f *Framer) printed(it Item) Item {
	if it.Cells == nil && f.options.Form == FormTable {
		it.Cells = []byte(`[""` + strings.Repeat(",null", max(len(f.shape.Columns)-1, 0)) + `]`)
	}
	return it
}

func (f *Framer) append(dst []byte, event string, it Item, ages *Ages, include Include) []byte {
	dst = appendFrameHead(dst, event)
	switch f.options.Form {
	case FormTable:
		columns := f.columns
		f.columns = noColumns
		o := TableOptions{Meta: f.options.Meta, Include: include, Now: time.Now()}
		dst = appendTable(dst, f.shape, ages, it, o, columns)
	case FormPartial:
		dst = appendPartial(dst, f.shape, it, f.options.Meta)
	default:
		dst = append(dst, it.JSON...)
	}
	return append(dst, "}\n"...)
}

func appendFrameHead(dst []byte, event string) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, event...)
	return append(dst, `","object":`...)
}

// AppendError appends an ERROR event with a Status, which no transformation touches.
func AppendError(dst, status []byte) []byte {
	return append(append(appendFrameHead(dst, "ERROR"), status...), "}\n"...)
}
