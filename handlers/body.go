package handlers

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/wire"
)

// body prepares a response with code 200. Nothing is sent before the first Write.
func (o *reply) body(m media) *wire.Body {
	o.progress.Answering()
	header := o.header()
	options := wire.BodyOptions{AcceptEncoding: o.acceptEncoding(), Precompressed: o.precompressed, Announce: func() {
		header.Set("Content-Encoding", "gzip")
		header.Set("Vary", "Accept-Encoding")
	}}
	header.Set("Content-Type", m.encoding.MediaType())
	switch m.conversion {
	case unconverted:
	case indented:
		options.Filter = func(w io.Writer) io.WriteCloser { return wire.NewIndenter(w) }
	case inYAML:
		header.Set("Content-Type", runtime.ContentTypeYAML)
		options.Filter = func(w io.Writer) io.WriteCloser { return newYAMLWriter(w, o.yamlSeats, o.time) }
	}
	return wire.NewBody(o.pieces(), options)
}
