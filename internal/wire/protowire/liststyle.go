package protowire

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// List implements wire.Shape.
func (s *Shape) List(f wire.Representation, _ time.Time) wire.ListStyle {
	switch f.Kind {
	case wire.Listed:
		return &listStyle{shape: s, envelope: s.list, metadata: listMetadata, items: listItems}
	case wire.Partial:
		style := &listStyle{shape: s, partial: true, envelope: partialLists[f.Meta], metadata: listMetadata, items: listItems}
		if f.Meta == wire.MetaV1Beta1 { // in this version, items precede the metadata
			style.metadata, style.items = style.items, style.metadata
		}
		return style
	default:
		panic(fmt.Sprintf("BUG: invalid representation %d of a list", f.Kind))
	}
}

type listStyle struct {
	shape           *Shape
	envelope        envelope
	partial         bool
	metadata, items int32
	total           int // length of all items in bytes
}

// Separator implements wire.ListStyle.
func (*listStyle) Separator() string { return "" }

// SetTotal implements wire.MeasuredStyle.
func (s *listStyle) SetTotal(bytes int) { s.total = bytes }

// Len implements wire.MeasuredStyle.
func (s *listStyle) Len(it *wire.Item) int {
	if s.partial {
		open := item.Open(it)
		defer open.Close()
		return fieldLen(s.items, fieldLen(partialMetadata, len(s.shape.partialOf(&open))))
	}
	return fieldLen(s.items, it.Size())
}

// AppendHead implements wire.ListStyle.
func (s *listStyle) AppendHead(dst []byte, meta wire.ListMeta, _ wire.Content) []byte {
	field := s.metaField(meta)
	dst = s.envelope.appendHead(dst, len(field)+s.total)
	if s.metadata > s.items {
		return dst
	}
	return append(dst, field...)
}

// AppendItem implements wire.ListStyle.
func (s *listStyle) AppendItem(dst []byte, it *wire.Item) []byte {
	if !s.partial {
		return item.Append(appendHead(dst, s.items, it.Size()), it)
	}
	open := item.Open(it)
	defer open.Close()
	metadata := s.shape.partialOf(&open)
	dst = appendHead(dst, s.items, fieldLen(partialMetadata, len(metadata)))
	return appendField(dst, partialMetadata, metadata)
}

// AppendTail implements wire.ListStyle.
func (s *listStyle) AppendTail(dst []byte, meta wire.ListMeta, _ wire.Content) []byte {
	if s.metadata > s.items {
		dst = append(dst, s.metaField(meta)...)
	}
	return append(dst, envelopeTail...)
}

func (s *listStyle) metaField(meta wire.ListMeta) []byte {
	list := metav1.ListMeta{ResourceVersion: meta.ResourceVersion, Continue: meta.Continue,
		RemainingItemCount: meta.RemainingItemCount}
	if meta.Shards != "" {
		list.ShardInfo = &metav1.ShardInfo{Selector: meta.Shards}
	}
	message, err := list.Marshal()
	if err != nil {
		panic("BUG: encode list metadata: " + err.Error())
	}
	return appendField(nil, s.metadata, message)
}
