package handlers

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/wire"
)

// body is the body of a 200 answer: indented if asked for, compressed if it is large, in pieces.
type body struct {
	*wire.Body
	sink *timedWriter
}

// body prepares a 200 answer; nothing is sent before the first Write.
func (o *reply) body(m media, e wire.Encoding) *body {
	header := o.header()
	options := wire.BodyOptions{AcceptEncoding: o.acceptEncoding(), Announce: func() {
		header.Set("Content-Encoding", "gzip")
		header.Set("Vary", "Accept-Encoding")
	}}
	header.Set("Content-Type", e.MediaType())
	switch {
	case m.pretty:
		options.Filter = func(w io.Writer) io.WriteCloser { return wire.NewIndenter(w) }
	case m.yaml:
		header.Set("Content-Type", runtime.ContentTypeYAML)
		options.Filter = func(w io.Writer) io.WriteCloser { return wire.NewYAMLWriter(w) }
	}
	sink := o.pieces()
	return &body{Body: wire.NewBody(sink, options), sink: sink}
}

// Close sends what is held back, and lifts the deadline: the connection's next answer is not late because of this one.
func (b *body) Close() error {
	if err := b.Body.Close(); err != nil {
		return err
	}
	return b.sink.release()
}
