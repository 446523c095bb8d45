package handlers

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/wire"
)

// body is what an answer's bytes go through: indented if asked for, compressed if they are many.
type body struct {
	top  interface{ Write([]byte) (int, error) }
	ends []func() error // from the top down
}

// body prepares a 200 answer, to which JSON is written; nothing is sent before the first Write.
func (o *reply) body(m media) *body {
	header := o.header()
	header.Set("Content-Type", runtime.ContentTypeJSON)
	sink := o.pieces()
	compressor := wire.NewCompressor(sink, o.acceptEncoding(), func() {
		header.Set("Content-Encoding", "gzip")
		header.Set("Vary", "Accept-Encoding")
	})
	b := &body{top: compressor, ends: []func() error{compressor.Close, sink.release}}
	switch {
	case m.pretty:
		indenter := wire.NewIndenter(compressor)
		b.top, b.ends = indenter, []func() error{indenter.Close, compressor.Close, sink.release}
	case m.yaml:
		header.Set("Content-Type", runtime.ContentTypeYAML)
		converter := wire.NewYAMLWriter(compressor)
		b.top, b.ends = converter, []func() error{converter.Close, compressor.Close, sink.release}
	}
	return b
}

// Write implements io.Writer.
func (b *body) Write(p []byte) (int, error) { return b.top.Write(p) }

// Close sends what is held back, and lifts the deadline: the connection's next answer is not late because of this one.
func (b *body) Close() error {
	for _, end := range b.ends {
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}
