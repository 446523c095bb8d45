package wire

import (
	"io"
	"sync"
)

// ListMeta is a list's metadata.
type ListMeta struct {
	ResourceVersion string
	Continue        string // empty when the list is complete
	// RemainingItemCount is how many items follow; nil when it is not told (semantics 2.6).
	RemainingItemCount *int64
}

// ListWriter writes a list: Begin once, Item for each object, End once.
type ListWriter interface {
	Begin(meta ListMeta) error
	Item(it Item) error
	End() error
}

// pieceSize is how much is written at once: smaller writes cost HTTP/2 and TLS twice and more per byte.
const pieceSize = 128 << 10

// keepPiece is how large in bytes a buffer may be that is used again.
const keepPiece = 1 << 20

// pieces are the buffers of lists; one has grown with the largest object that was in it.
var pieces = sync.Pool{New: func() any {
	b := make([]byte, 0, pieceSize+64<<10)
	return &b
}}

// listWriter writes any style in pieces.
type listWriter struct {
	w     io.Writer
	style style
	meta  ListMeta
	piece *[]byte
	items int
}

func newListWriter(w io.Writer, s style) *listWriter { return &listWriter{w: w, style: s} }

// Begin takes the list's metadata. The head is written with the first item or the end, since it depends on which it is.
func (l *listWriter) Begin(meta ListMeta) error {
	l.meta, l.piece = meta, pieces.Get().(*[]byte)
	*l.piece = (*l.piece)[:0]
	return nil
}

// Item adds an object.
func (l *listWriter) Item(it Item) error {
	b := *l.piece
	if l.items == 0 {
		b = l.style.head(b, l.meta, false)
	} else {
		b = append(b, ',')
	}
	l.items++
	*l.piece = l.style.item(b, it)
	if len(*l.piece) < pieceSize {
		return nil
	}
	return l.send()
}

// End completes the list and gives its buffer back; without it the buffer is garbage, which is what a broken answer deserves.
func (l *listWriter) End() error {
	empty := l.items == 0
	if empty {
		*l.piece = l.style.head(*l.piece, l.meta, true)
	}
	*l.piece = l.style.tail(*l.piece, l.meta, empty)
	err := l.send()
	if cap(*l.piece) <= keepPiece {
		pieces.Put(l.piece)
	}
	return err
}

func (l *listWriter) send() error {
	_, err := l.w.Write(*l.piece)
	*l.piece = (*l.piece)[:0]
	return err
}

// NewList writes a list of whole objects in the shape's style (semantics 7.1, 7.2).
func NewList(w io.Writer, shape *Shape) ListWriter {
	if shape.Custom {
		return newListWriter(w, customStyle{shape})
	}
	return newListWriter(w, builtinStyle{shape})
}

// NewTableList writes a Table with a row for each object (semantics 6.4).
func NewTableList(w io.Writer, shape *Shape, o TableOptions) ListWriter {
	return newListWriter(w, tableStyle{shape: shape, options: o})
}

// NewPartialList writes a PartialObjectMetadataList (semantics 6.5).
func NewPartialList(w io.Writer, shape *Shape, meta MetaVersion) ListWriter {
	return newListWriter(w, partialStyle{shape: shape, meta: meta})
}
