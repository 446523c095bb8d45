package jsonwire

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/wire"
)

// Encoding is JSON.
type Encoding struct{}

const (
	mediaTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
	mediaPlain = "application/json"
)

// wholeObjects makes the rows of a Table hold them. What is no Table ignores it.
var wholeObjects = map[string]string{"includeObject": "Object"}

// Name implements wire.Encoding.
func (Encoding) Name() string { return "json" }

// MediaType implements wire.Encoding.
func (Encoding) MediaType() string { return runtime.ContentTypeJSON }

// StreamType implements wire.Encoding.
func (Encoding) StreamType() string { return runtime.ContentTypeJSON }

// Framing implements wire.Encoding.
func (Encoding) Framing() wire.Framing { return wire.Lines{} }

// Covers implements wire.Encoding: every kind is, by whatever fields.
func (Encoding) Covers(wire.Description, []wire.Path) bool { return true }

// Asks implements wire.Encoding: Tables with whole objects, or plain objects, which some upstreams have of some kinds
// only.
func (Encoding) Asks() []wire.Ask {
	return []wire.Ask{{Accept: mediaTable, Query: wholeObjects}, {Accept: mediaPlain, Query: wholeObjects}}
}

// Reader implements wire.Encoding.
func (Encoding) Reader(d wire.Description, ask wire.Ask, fields []wire.Path) wire.Reader {
	return &reader{extractor: NewExtractor(fields), shape: newShape(d), plain: ask.Accept == mediaPlain}
}

// Shape implements wire.Encoding.
func (Encoding) Shape(d wire.Description) wire.Shape { return newShape(d) }
