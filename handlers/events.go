package handlers

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/wire"
)

// frameSink sends the frames of one watch.
type frameSink interface {
	// begin tells the client that it watches.
	begin() error
	// send sends whole frames, at once.
	send(frames []byte) error
	// settle sends what was not sent at once.
	settle() error
}

// events collects the frames of one watch in a buffer, sent by flush. Used by one goroutine. A watch that has nothing
// to send has no buffer: thousands are open at a time, and few send.
type events struct {
	sink           frameSink
	shape          wire.Shape
	representation wire.Representation
	framer         wire.Framer
	marks          *wire.Bookmark // what bookmarks look like
	frames         *bytes.Buffer  // nil when there are none
	alone          *cache.Frame   // which is sent as it is unless others join it; nil when there is none
	sent           int
	meter          *observe.WatchMeter // counts them, as they are before they are compressed

	progress *observe.Progress // is told what was sent
	// mayGo is asked before anything is sent: its error ends the stream, and what was collected is not sent.
	mayGo func() error
}

// newEvents prepares a watch's events; they need a sink to be sent.
func newEvents(q *Request, lane *reflector.Reflector, shape wire.Shape, mayGo func() error) *events {
	representation := q.media.representation(wire.Whole)
	return &events{
		mayGo: mayGo, shape: shape, representation: representation, framer: shape.Framer(representation), marks: lane.Bookmark(), progress: q.Event.Progress,
	}
}

// bodySink sends frames as the body of an answer.
type bodySink struct {
	out           *timedWriter
	gzip          bool
	precompressed *wire.Precompressed // of pages in streaming lists that are compressed
	owed          bool                // something was written that was not flushed
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

// sendPrecompressed sends what was compressed ahead, at the latest when it is settled: a list's pages leave together.
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

// added sends a run of initial events, or adds them.
func (e *events) added(run cache.Run) error {
	if sink, ok := e.sink.(*bodySink); ok && sink.precompressed != nil {
		of := wire.Run{Page: run.Page, From: run.From, To: run.To}
		if ahead := wire.PrecompressedEvents(sink.precompressed, e.shape, e.representation, of, time.Now()); ahead != nil {
			return e.sendPrecompressed(sink, ahead, run.To-run.From)
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

// sendPrecompressed sends frames that were compressed ahead, behind those that were added before.
func (e *events) sendPrecompressed(sink *bodySink, ahead *wire.Deflated, count int) error {
	if e.buffered() > 0 {
		if err := e.flush(); err != nil {
			return err
		}
	}
	if err := e.mayGo(); err != nil {
		return err
	}
	e.sent += count
	e.meter.Add(count, ahead.Length())
	err := sink.sendPrecompressed(ahead)
	e.progress.Sent(e.sent)
	return err
}

// flushAt is how many bytes of events are collected before they are sent although more are there.
const flushAt = 64 << 10

// flushFull sends what was added when it is much.
func (e *events) flushFull() error {
	if e.buffered() < flushAt {
		return nil
	}
	return e.flush()
}

// object adds the event about an object that a watcher has just returned.
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

// write adds an event that is this watch's own to write.
func (e *events) write(eventType string, o *cache.Object) {
	e.join()
	frames := e.buffer()
	e.add(frames, e.framer.AppendEvent(frames.AvailableBuffer(), eventType, o.Item()))
}

// add adds one frame.
func (e *events) add(to *bytes.Buffer, frame []byte) {
	to.Write(frame)
	e.meter.Add(1, len(frame))
}

// join puts a frame that was alone in front of those that come now.
func (e *events) join() {
	if e.alone != nil {
		e.buffer().Write(e.alone.Bytes)
		e.alone = nil
	}
}

// bookmark adds a bookmark at a resourceVersion.
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

// frameBuffers are what frames are collected in, for as long as it takes to send them.
var frameBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keepBuffer is how large a buffer may be that is used again: as large as those of bursts become.
const keepBuffer = 2 * flushAt

// buffer is where frames are added.
func (e *events) buffer() *bytes.Buffer {
	if e.frames == nil {
		e.frames = frameBuffers.Get().(*bytes.Buffer)
	}
	return e.frames
}

// flush sends what was added.
func (e *events) flush() error {
	if e.buffered() == 0 {
		e.meter.Sent() // what was compressed ahead
		return e.sink.settle()
	}
	defer func() { e.progress.Sent(e.sent) }()
	if err := e.mayGo(); err != nil {
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
		return err // HTTP/2 may still be copying what it gave up: the buffer is nobody's any more
	}
	e.meter.Sent()
	if frames.Cap() <= keepBuffer {
		frames.Reset()
		frameBuffers.Put(frames)
	}
	return nil
}

// fail ends the stream with an error in it.
func (e *events) fail(err error) error {
	e.join()
	frames := e.buffer()
	frames.Write(e.framer.AppendError(frames.AvailableBuffer(), statusOf(err)))
	return e.flush()
}
