package handlers

import (
	"net/http"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// timedWriter is who knows how long a client may take: for each piece the server's write timeout, and for the last of
// them the time of the request. Used by one goroutine, until the reply is finished.
//
// An answer that has its time gets a deadline, which stands while pieces go out and is moved when it comes too near:
// each move is a message to the goroutine of an HTTP/2 connection. What runs long may be quiet for as long as it likes,
// and HTTP/2 resets a stream whose deadline passes although there is nothing to write. So a piece of it is guarded by a
// timer of our own, and a deadline is set when that goes off, long past.
type timedWriter struct {
	reply   *reply
	control *http.ResponseController
	stands  time.Time // the deadline; zero when none was set
	guard   guard
}

// Write implements io.Writer.
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

// Flush sends what was written, before something is waited for: no deadline stands meanwhile.
func (t *timedWriter) Flush() error {
	began := time.Now()
	if err := t.begin(began); err != nil {
		return err
	}
	err := t.control.Flush()
	t.reply.progress.Wrote(0)
	t.accepted(began)
	if err != nil || t.stands.IsZero() {
		return err
	}
	t.stands = time.Time{}
	return t.control.SetWriteDeadline(t.stands)
}

// begin says until when what is written from now on must be accepted.
func (t *timedWriter) begin(now time.Time) error {
	if t.reply.until.IsZero() {
		t.guard.watch(t, now)
	} else if err := t.arm(now); err != nil {
		return err
	}
	t.reply.progress.Writes(now)
	return nil
}

// accepted ends a piece, and counts what it took.
func (t *timedWriter) accepted(began time.Time) {
	t.guard.accepted()
	t.reply.event.Waited(observe.Writing, began)
}

// arm sees to it that a deadline stands that leaves a piece its time, and an eighth of it more at most.
func (t *timedWriter) arm(now time.Time) error {
	due := now.Add(t.reply.timeout)
	late := due.Add(t.reply.timeout / 8)
	if until := t.reply.until; !until.IsZero() {
		due, late = earlier(due, until), earlier(late, until)
	}
	if !t.stands.Before(due) {
		return nil
	}
	t.stands = late
	return t.control.SetWriteDeadline(late)
}

// end gives what net/http still has to send a deadline, which stands until the connection's next request.
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

// guard breaks a stream of which a piece is not accepted in time, and says so of a watch that is behind. While all is
// well its timer goes off once in a write timeout, or in the time that a watch may be behind, at most, and finds
// nothing to do.
type guard struct {
	mu      sync.Mutex
	timeout time.Duration // of a piece
	due     time.Time     // when the piece under way must be accepted; zero when there is none
	timer   *time.Timer   // nil before the first piece
	set     bool          // the timer is running, and goes off within the timeout
	broke   bool          // the stream was broken
	lag     lag           // of a watch
}

// watch begins a piece of a writer, which is always the same.
func (g *guard) watch(t *timedWriter, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timeout = t.reply.timeout
	g.due = now.Add(g.timeout) // not before the time that the timer is set to: the timeout is the same for all pieces
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

// accepted ends a piece.
func (g *guard) accepted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.due = time.Time{}
}

// look is what the timer does.
func (g *guard) look(control *http.ResponseController) {
	g.mu.Lock() // held while the deadline is set, which must not happen when the reply is finished
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
	wait := min(g.lag.look(now, writing), g.timeout) // another piece may begin before
	if writing {
		wait = min(wait, g.due.Sub(now))
	}
	g.timer.Reset(wait)
}

// longAgo is a deadline that breaks off whatever is being written.
var longAgo = time.Unix(1, 0)

// end leaves nothing behind, and tells whether it has broken the stream.
func (g *guard) end() (broke bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.due, g.lag = time.Time{}, lag{}
	if g.timer != nil {
		g.timer.Stop()
	}
	return g.broke
}

// pacedWriter is a timedWriter for those who want an http.ResponseWriter.
type pacedWriter struct {
	http.ResponseWriter
	sink *timedWriter
}

func (o *reply) paced() *pacedWriter { return &pacedWriter{ResponseWriter: o.w, sink: o.pieces()} }

// WriteHeader begins the answer.
func (p *pacedWriter) WriteHeader(code int) {
	p.ResponseWriter.WriteHeader(code)
	p.begins(code)
}

// begins says that the answer begins, of what runs long.
func (p *pacedWriter) begins(code int) {
	if reply := p.sink.reply; reply.event.LongRunning {
		reply.answering(code)
	}
}

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (int, error) {
	p.begins(http.StatusOK) // if nobody has said otherwise
	return p.sink.Write(b)
}

// FlushError lets http.ResponseController flush.
func (p *pacedWriter) FlushError() error {
	p.begins(http.StatusOK)
	return p.sink.Flush()
}
