package wire

import "strconv"

// style is one form of list: what stands around and between the items.
type style interface {
	head(dst []byte, meta ListMeta, empty bool) []byte
	item(dst []byte, it Item) []byte
	tail(dst []byte, meta ListMeta, empty bool) []byte
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

func (s tableStyle) head(dst []byte, meta ListMeta, empty bool) []byte {
	dst = appendTableHead(dst, s.options.Meta, meta, s.shape.RawColumns)
	if empty && s.shape.nullRows() {
		return append(dst, "null"...)
	}
	return append(dst, '[')
}

func (s tableStyle) item(dst []byte, it Item) []byte {
	return appendRow(dst, s.shape, s.shape.Ages, it, s.options)
}

func (s tableStyle) tail(dst []byte, _ ListMeta, empty bool) []byte {
	if empty && s.shape.nullRows() {
		return append(dst, "}\n"...)
	}
	return append(dst, "]}\n"...)
}

type partialStyle struct {
	shape *Shape
	meta  MetaVersion
}

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

func (s partialStyle) item(dst []byte, it Item) []byte {
	return appendPartial(dst, s.shape, it, s.meta)
}

func (partialStyle) tail(dst []byte, _ ListMeta, empty bool) []byte {
	if empty {
		return append(dst, "}\n"...)
	}
	return append(dst, "]}\n"...)
}
