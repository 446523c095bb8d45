package jsonwire

import (
	"fmt"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// List implements wire.Shape.
func (s *Shape) List(f wire.Representation, now time.Time) wire.ListStyle {
	switch f.Kind {
	case wire.Row:
		return &tableStyle{shape: s, options: s.rowOptions(f, now)}
	case wire.Partial:
		return partialStyle{shape: s, meta: f.Meta}
	case wire.Listed:
		if s.custom {
			return customStyle{shape: s}
		}
		return builtinStyle{shape: s}
	default:
		panic(fmt.Sprintf("BUG: invalid representation %d of a list", f.Kind))
	}
}

type commas struct{}

// Separator implements wire.ListStyle.
func (commas) Separator() string { return "," }

type builtinStyle struct {
	commas
	shape *Shape
}

// AppendHead implements wire.ListStyle.
func (s builtinStyle) AppendHead(dst []byte, meta wire.ListMeta, _ wire.Content) []byte {
	dst = append(dst, `{"kind":"`...)
	dst = append(dst, s.shape.listKind...)
	dst = append(dst, `","apiVersion":"`...)
	dst = append(dst, s.shape.apiVersion...)
	dst = append(dst, `","metadata":`...)
	dst = appendListMeta(dst, meta)
	return append(dst, `,"items":[`...)
}

// AppendItem implements wire.ListStyle.
func (builtinStyle) AppendItem(dst []byte, it *wire.Item) []byte { return appendListed(dst, it) }

// AppendTail implements wire.ListStyle.
func (builtinStyle) AppendTail(dst []byte, _ wire.ListMeta, _ wire.Content) []byte {
	return append(dst, "]}\n"...)
}

// appendListMeta appends list metadata in the order of the Go type.
func appendListMeta(dst []byte, meta wire.ListMeta) []byte {
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
	if meta.Shards != "" {
		dst = append(dst, `,"shardInfo":{"selector":"`...)
		dst = append(dst, meta.Shards...)
		dst = append(dst, `"}`...)
	}
	return append(dst, '}')
}

type customStyle struct {
	commas
	shape *Shape
}

// AppendHead implements wire.ListStyle.
func (s customStyle) AppendHead(dst []byte, _ wire.ListMeta, _ wire.Content) []byte {
	dst = append(dst, `{"apiVersion":"`...)
	dst = append(dst, s.shape.apiVersion...)
	return append(dst, `","items":[`...)
}

// AppendItem implements wire.ListStyle.
func (customStyle) AppendItem(dst []byte, it *wire.Item) []byte { return appendWhole(dst, it) }

// AppendTail implements wire.ListStyle. In metadata, the keys are sorted, and the key continue is always present.
func (s customStyle) AppendTail(dst []byte, meta wire.ListMeta, _ wire.Content) []byte {
	dst = append(dst, `],"kind":"`...)
	dst = append(dst, s.shape.listKind...)
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
	commas
	shape   *Shape
	options rowOptions
}

// AppendHead implements wire.ListStyle.
func (s *tableStyle) AppendHead(dst []byte, meta wire.ListMeta, content wire.Content) []byte {
	dst = appendTableHead(dst, s.options.meta, meta, s.shape.rawColumns)
	if content == wire.Empty && s.shape.nullRows() {
		return append(dst, "null"...)
	}
	return append(dst, '[')
}

// AppendItem implements wire.ListStyle.
func (s *tableStyle) AppendItem(dst []byte, it *wire.Item) []byte {
	open := item.Open(it)
	defer open.Close()
	return s.shape.appendRow(dst, &open, &s.options)
}

// AppendTail implements wire.ListStyle.
func (s *tableStyle) AppendTail(dst []byte, _ wire.ListMeta, content wire.Content) []byte {
	if content == wire.Empty && s.shape.nullRows() {
		return append(dst, "}\n"...)
	}
	return append(dst, "]}\n"...)
}

// Until implements wire.AgingStyle.
func (s *tableStyle) Until() time.Time { return s.options.clock.Until() }

type partialStyle struct {
	commas
	shape *Shape
	meta  wire.MetaVersion
}

// AppendHead implements wire.ListStyle.
func (s partialStyle) AppendHead(dst []byte, meta wire.ListMeta, content wire.Content) []byte {
	dst = append(dst, `{"kind":"PartialObjectMetadataList","apiVersion":"`...)
	dst = append(dst, s.meta...)
	dst = append(dst, `","metadata":`...)
	dst = appendListMeta(dst, meta)
	if content == wire.Empty {
		return append(dst, `,"items":null`...)
	}
	return append(dst, `,"items":[`...)
}

// AppendItem implements wire.ListStyle.
func (s partialStyle) AppendItem(dst []byte, it *wire.Item) []byte {
	open := item.Open(it)
	defer open.Close()
	return s.shape.appendPartial(dst, &open, s.meta)
}

// AppendTail implements wire.ListStyle.
func (partialStyle) AppendTail(dst []byte, _ wire.ListMeta, content wire.Content) []byte {
	if content == wire.Empty {
		return append(dst, "}\n"...)
	}
	return append(dst, "]}\n"...)
}
