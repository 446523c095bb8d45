package jsonwire

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/wire"
)

// Encoding is the JSON encoding.
type Encoding struct{}

const (
	mediaTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
	mediaPlain = "application/json"
)

// wholeObjects requests Table rows with complete objects. It has no effect on responses that are not Tables.
var wholeObjects = map[string]string{"includeObject": "Object"}

var noObjects = map[string]string{"includeObject": "None"}

// Name implements wire.Encoding.
func (Encoding) Name() string { return "json" }

// MediaType implements wire.Encoding.
func (Encoding) MediaType() string { return runtime.ContentTypeJSON }

// StreamType implements wire.Encoding.
func (Encoding) StreamType() string { return runtime.ContentTypeJSON }

// Framing implements wire.Encoding.
func (Encoding) Framing() wire.Framing { return wire.Lines{} }

// BytesPerJSONByte implements wire.Encoding.
func (Encoding) BytesPerJSONByte() int { return 1 }

// Covers implements wire.Encoding. JSON supports every kind and all fields.
func (Encoding) Covers(wire.Description, []wire.Path) bool { return true }

// RequestFormats implements wire.Encoding. It returns Tables with complete objects, then plain objects, because some
// upstreams have no Tables for some kinds.
func (Encoding) RequestFormats() []wire.RequestFormat {
	return []wire.RequestFormat{{Accept: mediaTable, Query: wholeObjects}, {Accept: mediaPlain, Query: wholeObjects}}
}

// Pages implements wire.Encoding. For kube-apiserver, a Table with complete objects costs several times as much as a
// plain list and a Table without objects together (docs/adr/0017-lanes-are-filled-by-pages.md).
func (e Encoding) Pages(d wire.Description, ask wire.RequestFormat, fields []wire.Path) wire.Pages {
	plain := wire.RequestFormat{Accept: mediaPlain}
	read := &reader{extractor: NewExtractor(fields), shape: newShape(d), plain: true}
	pages := wire.Pages{Objects: plain, Reader: &pageReader{reader: read}}
	if ask.Accept == mediaTable {
		pages.Rows = &wire.RequestFormat{Accept: mediaTable, Query: noObjects}
		pages.Reader = &pageReader{reader: read, printed: true}
	}
	return pages
}

// Reader implements wire.Encoding.
func (Encoding) Reader(d wire.Description, ask wire.RequestFormat, fields []wire.Path) wire.Reader {
	return &reader{extractor: NewExtractor(fields), shape: newShape(d), plain: ask.Accept == mediaPlain}
}

// Shape implements wire.Encoding.
func (Encoding) Shape(d wire.Description) wire.Shape { return newShape(d) }
