package handlers

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/wire"
)

// frameSink sends the frames of one watch to its client.
type frameSink interface {
	begin() error
	// send sends complete frames immediately.
	send(frames []byte) error
	// settle sends frames that are still buffered.
	settle() error
}

// events collects the frames of one watch until flush sends them. Not safe for concurrent use. It has a buffer only
// while frames are pending, because thousands of watches are open at a time, and few of them send.
type events struct {
	sink           frameSink
	shape          wire.Shape
	representation wire.Representation
	framer         wire.Framer
	marks          *wire.Bookmark // templates for bookmarks
	frames         *bytes.Buffer  // pending frames; nil when there are none
	alone          *cache.Frame   // the single pending frame, sent without a copy; nil if frames has the pending frames
	sent           int
	meter          *metrics.WatchMeter // counts frames and their bytes before compression

	progress *observe.Progress // receives the number of events sent
	// maySend is called before frames are sent. Its error ends the stream, and pending frames are dropped.
	maySend func() error
}

// newEvents returns the events of a watch. The sink must be set before the first flush.
func newEvents(q *Request, lane Lane, shape wire.Shape, maySend func() error) *events {
	representation := q.media.representation(wire.Whole)
	return &events{
		maySend: maySend, shape: shape, representation: representation, framer: shape.Framer(representation),
		marks: lane.Bookmark(), progress: q.Event.Progress,
	}
}

// bodySink sends frames as the body of a response.
type bodySink struct {
	out           *timedWriter
	gzip          bool
	precompressed *wire.Precompressed // cache of precompressed pages, for a compressed streaming list
	owed          bool                // bytes were written but not flushed
}

// frames prepares the response of a watch, and returns the sink for its frames.
func (o *reply) frames(q *Request) *bodySink {
	sink := &bodySink{out: o.pieces()}
	header := o.header()
	header.Set("Content-Type", q.media.encoding.StreamType())
	if o.chunked() {
		header.Set("Transfer-Encoding", "chunked")
	}
	// kube-apiserver compresses all bytes of a streaming list, and no other watches (semantics 6.6).
	if q.sendsInitialEvents() && q.Options.AllowWatchBookmarks && wire.AcceptsGzip(o.acceptEncoding()) {
		sink.gzip, sink.precompressed = true, o.precompressed
		header.Set("Content-Encoding", "gzip")
		header.Set("Vary", "Accept-Encoding")
	}
	return sink
}

func (b *bodySink) begin() error {
	b.out.reply.w.WriteHeader(http.StatusOK)
	b.out.reply.answering(http.StatusOK)
	return b.out.Flush()
}

// sendPrecompressed writes precompressed frames. settle flushes them, so that all pages of a list are sent together.
func (b *bodySink) sendPrecompressed(frames *wire.Deflated) error {
	b.owed = true
	b.out.reply.event.RawBytes += int64(frames.Length())
	return wire.WritePrecompressed(b.out, frames)
}

func (b *bodySink) settle() error {
	if !b.owed {
		return nil
	}
	b.owed = false
	return b.out.Flush()
}

func (b *bodySink) send(frames []byte) error {
	var err error
	b.owed = false
	b.out.reply.event.RawBytes += int64(len(frames))
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

func (e *events) added(run cache.Run) error {
	if sink, ok := e.sink.(*bodySink); ok && sink.precompressed != nil {
		of := wire.Run{Page: run.Page, From: run.From, To: run.To}
		if deflated := wire.PrecompressedEvents(sink.precompressed, e.shape, e.representation, of,
			time.Now()); deflated != nil {
			return e.sendPrecompressed(sink, deflated, run.To-run.From)
		}
	}
	for _, o := range run.Objects() {
		e.sent++
		e.write(wire.TypeAdded, o)
		if err := e.flushFull(); err != nil {
			return err
		}
	}
	return nil
}

func (e *events) sendPrecompressed(sink *bodySink, deflated *wire.Deflated, count int) error {
	if e.buffered() > 0 {
		if err := e.flush(); err != nil {
			return err
		}
	}
	if err := e.maySend(); err != nil {
		return err
	}
	e.sent += count
	e.meter.Add(count, deflated.Length())
	err := sink.sendPrecompressed(deflated)
	e.progress.Sent(e.sent)
	return err
}

// flushAt is the number of buffered bytes that are sent even if more events are pending.
const flushAt = 64 << 10

func (e *events) flushFull() error {
	if e.buffered() < flushAt {
		return nil
	}
	return e.flush()
}

// object adds the event of an object that a watcher has just returned.
func (e *events) object(event cache.Event, from *cache.Watcher) {
	e.sent++
	frame := from.Frame(event, e.representation, e.framer)
	switch {
	case frame == nil:
		e.write(event.Type.String(), event.Object)
	case e.buffered() == 0:
		e.alone = frame
		e.meter.Add(1, len(frame.Bytes))
	default:
		e.join()
		e.buffer().Write(frame.Bytes)
		e.meter.Add(1, len(frame.Bytes))
	}
}

// write adds an event that this watch does not share with other watches.
func (e *events) write(eventType string, o *cache.Object) {
	e.join()
	frames := e.buffer()
	e.add(frames, e.framer.AppendEvent(frames.AvailableBuffer(), eventType, o.Item()))
}

func (e *events) add(to *bytes.Buffer, frame []byte) {
	to.Write(frame)
	e.meter.Add(1, len(frame))
}

func (e *events) join() {
	if e.alone != nil {
		e.buffer().Write(e.alone.Bytes)
		e.alone = nil
	}
}

func (e *events) bookmark(rv cache.RV, representation bookmarks.Kind) {
	e.sent++
	e.join()
	frames := e.buffer()
	if representation == bookmarks.InitialEventsEnd {
		item := e.shape.WithResourceVersion(&e.marks.InitialEventsEnd, rv.String())
		e.add(frames, e.framer.AppendInitialEventsEnd(frames.AvailableBuffer(), &item))
		e.meter.InitialEnd()
		return
	}
	item := e.shape.WithResourceVersion(&e.marks.Plain, rv.String())
	e.add(frames, e.framer.AppendBookmark(frames.AvailableBuffer(), &item))
}

func (e *events) buffered() int {
	switch {
	case e.alone != nil:
		return len(e.alone.Bytes)
	case e.frames != nil:
		return e.frames.Len()
	}
	return 0
}

var frameBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keepBuffer is the maximum size in bytes of a buffer that returns to frameBuffers.
const keepBuffer = 2 * flushAt

func (e *events) buffer() *bytes.Buffer {
	if e.frames == nil {
		e.frames = frameBuffers.Get().(*bytes.Buffer)
	}
	return e.frames
}

func (e *events) flush() error {
	if e.buffered() == 0 {
		e.meter.Sent() // for precompressed frames, which settle sends
		return e.sink.settle()
	}
	defer func() { e.progress.Sent(e.sent) }()
	if err := e.maySend(); err != nil {
		return err
	}
	if alone := e.alone; alone != nil {
		e.alone = nil
		if err := e.sink.send(alone.Bytes); err != nil {
			return err
		}
		e.meter.Sent()
		return nil
	}
	frames := e.frames
	e.frames = nil
	if err := e.sink.send(frames.Bytes()); err != nil {
		return err // HTTP/2 may still read from the buffer, so it must not be used again
	}
	e.meter.Sent()
	if frames.Cap() <= keepBuffer {
		frames.Reset()
		frameBuffers.Put(frames)
	}
	return nil
}

func (e *events) fail(err error) error {
	e.join()
	frames := e.buffer()
	frames.Write(e.framer.AppendError(frames.AvailableBuffer(), statusOf(err)))
	return e.flush()
}
