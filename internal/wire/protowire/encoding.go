package protowire

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/wire"
)

// Encoding is protobuf.
type Encoding struct{}

// Name implements wire.Encoding.
func (Encoding) Name() string { return "protobuf" }

// MediaType implements wire.Encoding.
func (Encoding) MediaType() string { return runtime.ContentTypeProtobuf }

// StreamType implements wire.Encoding.
func (Encoding) StreamType() string { return runtime.ContentTypeProtobuf + ";stream=watch" }

// Framing implements wire.Encoding.
func (Encoding) Framing() wire.Framing { return wire.Prefixed{} }

// Asks implements wire.Encoding.
func (Encoding) Asks() []wire.Ask { return []wire.Ask{{Accept: runtime.ContentTypeProtobuf}} }

// Covers implements wire.Encoding: custom resources have no protobuf, and what a kind is selected by must be found.
func (Encoding) Covers(d wire.Description, fields []wire.Path) bool {
	_, ok := locationsOf(d.Kind, fields)
	return ok && !d.Custom
}

// Pages implements wire.Encoding: frames of their own for all objects cost kube-apiserver half as much again as lists.
func (e Encoding) Pages(d wire.Description, ask wire.Ask, fields []wire.Path) wire.Pages {
	return wire.Pages{Objects: ask, Reader: &pageReader{reader: &reader{extractor: newExtractor(d.Kind, fields), shape: newShape(d)}}}
}

// Reader implements wire.Encoding. It panics for what Covers denies.
func (Encoding) Reader(d wire.Description, _ wire.Ask, fields []wire.Path) wire.Reader {
	return &reader{extractor: newExtractor(d.Kind, fields), shape: newShape(d)}
}

// Shape implements wire.Encoding.
func (Encoding) Shape(d wire.Description) wire.Shape { return newShape(d) }
