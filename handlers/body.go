package handlers

import (
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/wire"
)

// body is the way of an answer to a client: indented if asked for, compressed if it is large, in pieces that must each be
// accepted in time, so that a client who does not read holds no goroutine for ever.
type body struct {
	top  interface{ Write([]byte) (int, error) }
	ends []func() error // from the top down
}

// newBody prepares a 200 answer, to which JSON is written; nothing is sent before the first Write.
func (s *Server) newBody(w http.ResponseWriter, r *http.Request, m media) *body {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	sink := &timedWriter{w: w, control: http.NewResponseController(w), timeout: s.WriteTimeout}
	compressor := wire.NewCompressor(sink, r.Header.Get("Accept-Encoding"), func() {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Vary", "Accept-Encoding")
	})
	b := &body{top: compressor, ends: []func() error{compressor.Close, sink.release}}
	switch {
	case m.pretty:
		indenter := wire.NewIndenter(compressor)
		b.top, b.ends = indenter, []func() error{indenter.Close, compressor.Close, sink.release}
	case m.yaml:
		w.Header().Set("Content-Type", runtime.ContentTypeYAML)
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

// timedWriter gives the client a new deadline for each piece. The deadline must be lifted when nothing is being written:
// HTTP/2 resets a stream whose deadline passes although it is only quiet.
type timedWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// Write implements io.Writer.
func (t *timedWriter) Write(p []byte) (int, error) {
	if err := t.control.SetWriteDeadline(time.Now().Add(t.timeout)); err != nil {
		return 0, err
	}
	return t.w.Write(p)
}

// Flush sends what was written and lifts the deadline.
func (t *timedWriter) Flush() error {
	if err := t.control.SetWriteDeadline(time.Now().Add(t.timeout)); err != nil {
		return err
	}
	if err := t.control.Flush(); err != nil {
		return err
	}
	return t.release()
}

func (t *timedWriter) release() error { return t.control.SetWriteDeadline(time.Time{}) }
