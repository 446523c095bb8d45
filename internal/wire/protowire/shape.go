package protowire

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// Shape implements wire.Shape.
type Shape struct {
	whole, list envelope
	// converted are the annotations that PartialObjectMetadata omits.
	converted []string
}

func newShape(d wire.Description) *Shape {
	apiVersion := d.Kind.GroupVersion().String()
	return &Shape{
		whole: newEnvelope(apiVersion, d.Kind.Kind), list: newEnvelope(apiVersion, d.ListKind),
		converted: wire.ConversionAnnotations(d.Resource),
	}
}

// partials are the envelopes of PartialObjectMetadata, partialLists the envelopes of its lists.
var (
	partials     = metaEnvelopes("PartialObjectMetadata")
	partialLists = metaEnvelopes("PartialObjectMetadataList")
)

func metaEnvelopes(kind string) map[wire.MetaVersion]envelope {
	return map[wire.MetaVersion]envelope{
		wire.MetaV1: newEnvelope(string(wire.MetaV1), kind), wire.MetaV1Beta1: newEnvelope(string(wire.MetaV1Beta1), kind),
	}
}

// Prints implements wire.Shape. Protobuf has no Tables.
func (*Shape) Prints() bool { return false }

// Columns implements wire.Shape. Protobuf has no Tables.
func (*Shape) Columns() []byte { return nil }

// Reprinted implements wire.Shape.
func (*Shape) Reprinted([]byte) bool { return false }

var errColumns = errors.New("protobuf has no Tables")

// WithColumns implements wire.Shape.
func (*Shape) WithColumns([]byte) (wire.Shape, error) { return nil, errColumns }

// WithClock implements wire.Shape. Protobuf has no Tables, and therefore no ages.
func (s *Shape) WithClock(func() time.Time) wire.Shape { return s }

// WithResourceVersion implements wire.Shape.
func (*Shape) WithResourceVersion(it *wire.Item, rv string) wire.Item { return withVersion(it, rv) }

// UID implements wire.Shape.
func (*Shape) UID(it *wire.Item) string {
	open := item.Open(it)
	defer open.Close()
	for s := (scanner{data: metadata(&open)}); s.more(); {
		f, err := s.next()
		if err != nil {
			panic("BUG: read metadata again: " + err.Error())
		}
		if f.number == metaUID && f.wireType == protowire.BytesType {
			return string(s.data[f.start:f.end])
		}
	}
	return ""
}

// AppendObject implements wire.Shape.
func (s *Shape) AppendObject(dst []byte, f wire.Representation, it *wire.Item, _ time.Time) []byte {
	open := item.Open(it)
	defer open.Close()
	return s.enclose(f, &open).append(dst)
}

// enclosed is an object in its envelope, in representation Whole or Partial. It aliases the opened item.
type enclosed struct {
	envelope envelope
	// partial is true if content is the metadata of a PartialObjectMetadata, false if it is the complete message.
	partial bool
	content []byte
}

func (s *Shape) enclose(f wire.Representation, open *item.Opened) enclosed {
	switch f.Kind {
	case wire.Whole:
		return enclosed{envelope: s.whole, content: open.Data()}
	case wire.Partial:
		return enclosed{envelope: partials[f.Meta], partial: true, content: s.partialOf(open)}
	default:
		panic(fmt.Sprintf("BUG: invalid representation %d of a protobuf object", f.Kind))
	}
}

func (e enclosed) message() int {
	if e.partial {
		return fieldLen(partialMetadata, len(e.content))
	}
	return len(e.content)
}

func (e enclosed) len() int { return e.envelope.len(e.message()) }

func (e enclosed) append(dst []byte) []byte {
	dst = e.envelope.appendHead(dst, e.message())
	if e.partial {
		dst = appendHead(dst, partialMetadata, len(e.content))
	}
	return append(append(dst, e.content...), envelopeTail...)
}
