package wire

import (
	"io"
	"strconv"
	"sync"
	"time"
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

// pieces are the buffers of lists; one is as large as the largest object that was in it.
var pieces = sync.Pool{New: func() any {
	b := make([]byte, 0, pieceSize+64<<10)
	return &b
}}

// style is one form of list: what stands around and between the items.
type style interface {
	head(dst []byte, meta ListMeta, empty bool) []byte
	item(dst []byte, it Item) []byte
	tail(dst []byte, meta ListMeta, empty bool) []byte
}

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
	pieces.Put(l.piece)
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
func NewPartialList(w io.Writer, meta MetaVersion) ListWriter {
	return newListWriter(w, partialStyle{meta})
}

type builtinStyle struct{ shape *Shape }

func (s builtinStyle) head(dst []byte, meta ListMeta, _ bool) []byte {
	dst = append(dst, `{"kind":"`...)
	dst = append(dst, s.shape.ListKind...)
	dst = append(dst, `","apiVersion":"`...)
	dst = append(dst, s.shape.APIVersion...)
	dst = append(dst, `","metadata":`...)
	dst = appendListMeta(dst, meta)
	return append(dst, `,"items":[`...)
}

func (builtinStyle) item(dst []byte, it Item) []byte { return it.appendListed(dst) }

func (builtinStyle) tail(dst []byte, _ ListMeta, _ bool) []byte { return append(dst, "]}\n"...) }

// appendListMeta appends metadata in the order of the Go type.
func appendListMeta(dst []byte, meta ListMeta) []byte {
	dst = append(dst, `{"resourceVersion":"`...)
	dst = append(dst, meta.ResourceVersion...)
	dst = append(dst, '"')
	if meta.Continue != "" {
		dst = append(dst, `,"continue":"`...)
		dst = append(dst, meta.Continue...)
		dst = append(dst, '"')
	}
	if meta.RemainingItemCount != nil {
		dst = append(dst, `,"remainingItemCount":`...)
		dst = strconv.AppendInt(dst, *meta.RemainingItemCount, 10)
	}
	return append(dst, '}')
}

type customStyle struct{ shape *Shape }

func (s customStyle) head(dst []byte, _ ListMeta, _ bool) []byte {
	dst = append(dst, `{"apiVersion":"`...)
	dst = append(dst, s.shape.APIVersion...)
	return append(dst, `","items":[`...)
}

func (customStyle) item(dst []byte, it Item) []byte { return append(dst, it.JSON...) }

// tail appends metadata in sorted order; continue is always there.
func (s customStyle) tail(dst []byte, meta ListMeta, _ bool) []byte {
	dst = append(dst, `],"kind":"`...)
	dst = append(dst, s.shape.ListKind...)
	dst = append(dst, `","metadata":{"continue":"`...)
	dst = append(dst, meta.Continue...)
	dst = append(dst, '"')
	if meta.RemainingItemCount != nil {
		dst = append(dst, `,"remainingItemCount":`...)
		dst = strconv.AppendInt(dst, *meta.RemainingItemCount, 10)
	}
	dst = append(dst, `,"resourceVersion":"`...)
	dst = append(dst, meta.ResourceVersion...)
	return append(dst, "\"}}\n"...)
}

type tableStyle struct {
	shape   *Shape
	options TableOptions
}

func (s tableStyle) head(dst []byte, meta ListMeta, _ bool) []byte {
	return appendTableHead(dst, s.options.Meta, meta, s.shape.RawColumns)
}

func (s tableStyle) item(dst []byte, it Item) []byte {
	return appendRow(dst, s.shape.Ages, it, s.options)
}

func (tableStyle) tail(dst []byte, _ ListMeta, _ bool) []byte { return append(dst, "]}\n"...) }

type partialStyle struct{ meta MetaVersion }

func (s partialStyle) head(dst []byte, meta ListMeta, empty bool) []byte {
	dst = append(dst, `{"kind":"PartialObjectMetadataList","apiVersion":"`...)
	dst = append(dst, s.meta...)
	dst = append(dst, `","metadata":`...)
	dst = appendListMeta(dst, meta)
	if empty {
		return append(dst, `,"items":null`...)
	}
	return append(dst, `,"items":[`...)
}

func (s partialStyle) item(dst []byte, it Item) []byte { return appendPartial(dst, it, s.meta) }

func (partialStyle) tail(dst []byte, _ ListMeta, empty bool) []byte {
	if empty {
		return append(dst, "}\n"...)
	}
	return append(dst, "]}\n"...)
}

// TableOptions say what a Table's rows hold.
type TableOptions struct {
	Meta    MetaVersion
	Include Include
	Now     time.Time // what ages are counted to
}
