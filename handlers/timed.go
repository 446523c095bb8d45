package handlers

import (
	"net/http"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// timedWriter limits how long a client may take: the write timeout for each piece, and the request's timeout for all
// pieces. It is used by one goroutine until the reply is finished.
//
// A response with a timeout has a deadline. net/http moves the deadline of an HTTP/2 stream by a message to the
// goroutine of the connection. The timedWriter therefore moves the deadline only when it is too near.
//
// A long-running response has no deadline, because it may be idle for any time, and HTTP/2 resets an idle stream at its
// deadline. A timer guards each piece instead. When the timer fires, it sets a deadline in the past.
type timedWriter struct {
	reply    *reply
	control  *http.ResponseController
	deadline time.Time // zero if none is set
	guard    guard
}

func (t *timedWriter) Write(p []byte) (int, error) {
	began := time.Now()
	if err := t.begin(began); err != nil {
		return 0, err
	}
	defer t.accepted(began)
	if err := t.reply.seat.writes(began, len(p)); err != nil {
		return 0, err
	}
	n, err := t.reply.w.Write(p)
	t.reply.seat.wrote(n)
	t.reply.progress.Wrote(n)
	return n, err
}

// Flush sends the written bytes. It removes the deadline, because the response may be idle afterwards.
func (t *timedWriter) Flush() error {
	began := time.Now()
	if err := t.begin(began); err != nil {
		return err
	}
	err := t.control.Flush()
	t.reply.progress.Wrote(0)
	t.accepted(began)
	if err != nil || t.deadline.IsZero() {
		return err
	}
	t.deadline = time.Time{}
	return t.control.SetWriteDeadline(t.deadline)
}

// begin limits the time in which the client must accept the next piece.
func (t *timedWriter) begin(now time.Time) error {
	if t.reply.until.IsZero() {
		t.guard.watch(t, now)
	} else if err := t.arm(now); err != nil {
		return err
	}
	t.reply.progress.Writes(now)
	return nil
}

func (t *timedWriter) accepted(began time.Time) {
	t.guard.accepted()
	t.reply.event.Waited(observe.Writing, began)
}

// arm sets a deadline for a piece: the write timeout or up to an eighth more, but not after the end of the request.
func (t *timedWriter) arm(now time.Time) error {
	due := now.Add(t.reply.timeout)
	late := due.Add(t.reply.timeout / 8)
	if until := t.reply.until; !until.IsZero() {
		due, late = earlier(due, until), earlier(late, until)
	}
	if !t.deadline.Before(due) {
		return nil
	}
	t.deadline = late
	return t.control.SetWriteDeadline(late)
}

// end sets a deadline for the bytes that net/http still has to send. The deadline remains until the next request on the
// connection.
func (t *timedWriter) end() error {
	t.reply.event.Stalled = t.guard.end()
	return t.arm(time.Now())
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// guard breaks off a stream if the client does not accept a piece within the write timeout, and reports a watch that is
// behind. Its timer normally fires at most once per write timeout or lag.bound, and does nothing.
type guard struct {
	mu      sync.Mutex
	timeout time.Duration // of a piece
	due     time.Time     // when the current piece must be accepted; zero if there is none
	timer   *time.Timer   // nil before the first piece
	set     bool          // the timer is running and fires within the timeout
	broke   bool          // the stream was broken off
	lag     lag           // of a watch
}

// watch starts a piece. All calls must have the same writer.
func (g *guard) watch(t *timedWriter, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timeout = t.reply.timeout
	g.due = now.Add(g.timeout) // a running timer fires before due, because all pieces have the same timeout
	g.lag.begin(now)
	if g.set {
		return
	}
	wait := g.lag.first(g.timeout)
	if g.timer == nil {
		g.timer = time.AfterFunc(wait, func() { g.look(t.control) })
	} else {
		g.timer.Reset(wait)
	}
	g.set = true
}

func (g *guard) accepted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.due = time.Time{}
}

func (g *guard) look(control *http.ResponseController) {
	g.mu.Lock() // locked while a deadline is set, because no deadline may be set after the reply is finished
	defer g.mu.Unlock()
	writing := !g.due.IsZero()
	if g.set = writing || g.lag.behind(); !g.set {
		return
	}
	now := time.Now()
	if writing && !now.Before(g.due) {
		g.broke = true
		_ = control.SetWriteDeadline(longAgo)
		return
	}
	wait := min(g.lag.look(now, writing), g.timeout) // a piece that begins now must be accepted within g.timeout
	if writing {
		wait = min(wait, g.due.Sub(now))
	}
	g.timer.Reset(wait)
}

// longAgo is a deadline that breaks off a write.
var longAgo = time.Unix(1, 0)

func (g *guard) end() (broke bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.due, g.lag = time.Time{}, lag{}
	if g.timer != nil {
		g.timer.Stop()
	}
	return g.broke
}

// pacedWriter is a timedWriter with the methods of an http.ResponseWriter.
type pacedWriter struct {
	http.ResponseWriter
	sink *timedWriter
}

func (o *reply) paced() *pacedWriter { return &pacedWriter{ResponseWriter: o.w, sink: o.pieces()} }

// WriteHeader implements http.ResponseWriter.
func (p *pacedWriter) WriteHeader(code int) {
	p.ResponseWriter.WriteHeader(code)
	p.begins(code)
}

func (p *pacedWriter) begins(code int) {
	if reply := p.sink.reply; reply.event.LongRunning {
		reply.answering(code)
	}
}

func (p *pacedWriter) Write(b []byte) (int, error) {
	p.begins(http.StatusOK) // if WriteHeader was not called
	return p.sink.Write(b)
}

// FlushError implements the flush of http.ResponseController.
func (p *pacedWriter) FlushError() error {
	p.begins(http.StatusOK)
	return p.sink.Flush()
}
