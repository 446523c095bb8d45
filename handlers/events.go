package handlers

import (
	"bytes"
	"net/http"

	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/wire"
)

// frameSink sends the frames of one watch.
type frameSink interface {
	// begin tells the client that it watches.
	begin() error
	// send sends whole frames, at once.
	send(frames []byte) error
}

// events collects the frames of one watch in a buffer, sent by flush. Used by one goroutine.
type events struct {
	sink   frameSink
	shape  wire.Shape
	framer wire.Framer
	marks  *wire.Bookmark // what bookmarks look like
	frames bytes.Buffer
	sent   int
}

// newEvents prepares a watch's events; they need a sink to be sent.
func newEvents(q *Request, lane *reflector.Reflector, shape wire.Shape) *events {
	return &events{shape: shape, framer: shape.Framer(q.media.form(wire.Whole)), marks: lane.Bookmark()}
}

// bodySink sends frames as the body of an answer.
type bodySink struct {
	out  *timedWriter
	gzip bool
}

// frames prepares a watch's answer.
func (o *reply) frames(q *Request, e wire.Encoding) *bodySink {
	sink := &bodySink{out: o.pieces()}
	header := o.header()
	header.Set("Content-Type", e.StreamType())
	if o.chunked() {
		header.Set("Transfer-Encoding", "chunked")
	}
	// kube-apiserver compresses streaming lists, from the first byte to the last, and no other watches (semantics 6.6).
	if q.sendsInitialEvents() && q.Options.AllowWatchBookmarks && wire.AcceptsGzip(o.acceptEncoding()) {
		sink.gzip = true
		header.Set("Content-Encoding", "gzip")
		header.Set("Vary", "Accept-Encoding")
	}
	return sink
}

func (b *bodySink) begin() error {
	b.out.w.WriteHeader(http.StatusOK)
	return b.out.Flush()
}

func (b *bodySink) send(frames []byte) error {
	var err error
	if b.gzip {
		err = wire.WriteMember(b.out, frames)
	} else {
		_, err = b.out.Write(frames)
	}
	if err != nil {
		return err
	}
	return b.out.Flush()
}

// object adds an event about an object.
func (e *events) object(event cache.Event) {
	e.sent++
	e.frames.Write(e.framer.AppendEvent(e.frames.AvailableBuffer(), event.Type.String(), &event.Object.Item))
}

// bookmark adds a bookmark at a resourceVersion.
func (e *events) bookmark(rv cache.RV, form bookmarks.Form) {
	e.sent++
	if form == bookmarks.InitialEventsEnd {
		item := e.shape.WithResourceVersion(&e.marks.InitialEventsEnd, rv.String())
		e.frames.Write(e.framer.AppendInitialEventsEnd(e.frames.AvailableBuffer(), &item))
		return
	}
	item := e.shape.WithResourceVersion(&e.marks.Plain, rv.String())
	e.frames.Write(e.framer.AppendBookmark(e.frames.AvailableBuffer(), &item))
}

func (e *events) buffered() int { return e.frames.Len() }

// keepBuffer is how large a watch's buffer may stay while it is quiet: thousands of watches are open at a time.
const keepBuffer = 16 << 10

// flush sends what was added.
func (e *events) flush() error {
	if e.frames.Len() == 0 {
		return nil
	}
	if err := e.sink.send(e.frames.Bytes()); err != nil {
		return err
	}
	e.frames.Reset()
	if e.frames.Cap() > keepBuffer {
		e.frames = bytes.Buffer{}
	}
	return nil
}

// fail ends the stream with an error in it.
func (e *events) fail(err error) error {
	e.frames.Write(e.framer.AppendError(e.frames.AvailableBuffer(), statusOf(err)))
	return e.flush()
}
