package handlers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"go.uber.org/zap"
	"golang.org/x/net/websocket"
	"golang.org/x/sync/semaphore"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// reply is the way of one answer to its client, the last station. It alone knows the connection: every piece must be
// accepted in time, and the last of them within the request's, so that a client who reads slowly holds nothing for
// ever: no goroutine, and no State.
type reply struct {
	w             middleware.WrapResponseWriter
	r             *http.Request // for the handshake of a websocket, and the form of an error
	event         *observe.Event
	follower      observe.Follower // told of the request on its way; nil when nobody is
	log           *zap.Logger
	timeout       time.Duration       // for each piece
	until         time.Time           // when the whole answer must be with the client; zero for what runs long
	yamlSeats     *semaphore.Weighted // of becoming YAML
	precompressed *wire.Precompressed // of pages in compressed lists
	entered       bool                // Live was told of the request
	out           timedWriter
	seat          seat
	answers       bool // it was said that the answer to a request that runs long begins

	progress observe.Progress // of event, as others see it

	cancel    context.CancelCauseFunc // ends what runs long
	watches   bool                    // it is a watch, which may end anywhere
	displaced atomic.Bool             // it has to end for another's sake

	rest func() error // of an answer that runs long: what is done when the road lies behind it; nil when it is whole
	ends []func()     // to be called when the answer is over, the last first
}

// newReply begins an answer with the headers that each has (semantics 6.7), and the Event of its request.
func newReply(w http.ResponseWriter, r *http.Request, log *zap.Logger, timeout time.Duration) *reply {
	id := auditIDOf(r.Header)
	r.Header.Set("Audit-Id", id) // for the upstream, if it is asked
	w.Header().Set("Audit-Id", id)
	w.Header().Set("Cache-Control", "no-cache, private")
	if r.ProtoMajor == 1 { // the connection's last answer left its deadline
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	o := &reply{
		w: middleware.NewWrapResponseWriter(w, r.ProtoMajor), r: r, log: log, timeout: timeout,
		event: &observe.Event{
			AuditID: id, Client: r.RemoteAddr, UserAgent: r.UserAgent(), Header: r.Header, Method: r.Method, URI: r.URL.RequestURI(),
			Source: observe.FromFacade, Began: time.Now(),
		},
	}
	o.progress.Follow(o.event)
	o.out = timedWriter{reply: o, control: http.NewResponseController(o.w)}
	o.seat.control = o.out.control
	o.boundBody()
	return o
}

// probes are the beginnings of paths that are answered to the very end.
var probes = []string{"/readyz", "/livez", "/healthz", "/metrics"}

// isProbe tells whether somebody asks how the server does.
func (o *reply) isProbe() bool {
	return slices.ContainsFunc(probes, func(probe string) bool { return strings.HasPrefix(o.r.URL.Path, probe) })
}

// isMultiplexed tells whether the connection has other answers under way at the same time.
func (o *reply) isMultiplexed() bool { return o.r.ProtoMajor == 2 }

// boundBody bounds how long a request's body is waited for. Nobody here reads one, but of reviews; net/http
// does, over HTTP/1, before it sends an answer or takes the next request, unless the connection ends with the answer.
func (o *reply) boundBody() {
	if o.r.ContentLength == 0 {
		return
	}
	_ = o.out.control.SetReadDeadline(time.Now().Add(o.timeout)) // of the stream alone, over HTTP/2
	if o.r.ProtoMajor == 1 {
		o.header().Set("Connection", "close")
	}
}

// atEnd has something done when the answer is over, before what was named earlier.
func (o *reply) atEnd(do func()) { o.ends = append(o.ends, do) }

// stay gives the rest of an answer that runs long. It is called with next to nothing below it on its stack: a stack
// that is hardly used becomes small again, and thousands of watches have one each.
func (o *reply) stay() error {
	if o.rest == nil {
		return nil
	}
	return o.rest()
}

// leave does what is to be done when the answer is over.
func (o *reply) leave() { o.leaveTo(0) }

// leaveTo does at once what was to be done at the end, but for the first so many things.
func (o *reply) leaveTo(first int) {
	ends := o.ends[first:]
	o.ends = o.ends[:first]
	for _, do := range ends {
		defer do() // the last first, and whatever the others do
	}
}

// finish completes the Event. What net/http still has to send gets a deadline, which stands until the next request.
func (o *reply) finish() *observe.Event {
	_ = o.out.end()
	e := o.event
	if e.LongRunning {
		o.answering(o.w.Status()) // with an error, or with nothing, if it has not begun
	}
	if code := o.w.Status(); code != 0 {
		e.Code = code
	}
	e.Displaced, e.Yielded = o.seat.displaced(), o.displaced.Load()
	e.Bytes, e.Took = max(int64(o.w.BytesWritten()), o.progress.Bytes()), time.Since(e.Began)
	if e.RawBytes == 0 && o.header().Get("Content-Encoding") == "" {
		e.RawBytes = e.Bytes
	}
	return e
}

// errDisplaced is why a stream that is no watch breaks off, whose place another has.
var errDisplaced = errors.New("the place is another's")

// displace ends what runs long, whose place another has: a watch as a whole, so that its client goes on from where it
// was, and a log, which would look whole, in the middle. It is called from another request's goroutine.
func (o *reply) displace() {
	o.displaced.Store(true)
	if o.watches {
		o.cancel(upstream.ErrEnd)
	} else {
		o.cancel(errDisplaced)
	}
}

// answering says, once, that the answer to a request that runs long begins.
func (o *reply) answering(code int) {
	if o.answers {
		return
	}
	o.answers = true
	o.event.Code, o.event.Started = code, time.Since(o.event.Began)
	if o.follower != nil {
		o.follower.Answering(o.event)
	}
}

// header is what the answer begins with.
func (o *reply) header() http.Header { return o.w.Header() }

// time is the time that an answer has until its client leaves or must have it.
func (o *reply) time() (context.Context, context.CancelFunc) {
	if o.until.IsZero() {
		return context.WithCancel(o.r.Context())
	}
	return context.WithDeadline(o.r.Context(), o.until)
}

// chunked tells whether HTTP itself says where a stream's pieces end by chunks, as HTTP/1.1 does.
func (o *reply) chunked() bool { return o.r.ProtoMajor == 1 }

// acceptEncoding is what the client takes.
func (o *reply) acceptEncoding() string { return o.r.Header.Get("Accept-Encoding") }

// pieces writes to the client, each piece in time.
func (o *reply) pieces() *timedWriter { return &o.out }

// hand lets a handler of a library answer, which knows nothing of the road.
func (o *reply) hand(handler http.Handler) { handler.ServeHTTP(o.paced(), o.r) }

// handConnection lets a handler take the connection over.
func (o *reply) handConnection(conn *takenConn, handler http.Handler) {
	handler.ServeHTTP(&takeover{ResponseWriter: o.w, conn: conn}, o.r)
}

var errOrigin = errors.New("the websocket's Origin is another host")

// checkOrigin lets in only who says that it comes from the very host that it came to. Browsers say it of every page,
// and no other rule of theirs keeps a page from opening a websocket to another host and reading from it.
func checkOrigin(config *websocket.Config, r *http.Request) (err error) {
	if config.Origin, err = websocket.Origin(config, r); err != nil {
		return err
	}
	if config.Origin == nil || !strings.EqualFold(config.Origin.Host, r.Host) {
		return errOrigin
	}
	return nil
}

// checkOrigin refuses a page of another host.
func (o *reply) checkOrigin(config *websocket.Config, r *http.Request) error {
	err := checkOrigin(config, r)
	if err != nil {
		o.answering(http.StatusForbidden)
	}
	return err
}

// fail ends a request that went wrong.
func (o *reply) fail(err error) {
	if o.w.Status() != 0 {
		panic(http.ErrAbortHandler) // a body that broke off must not look whole
	}
	o.until = time.Time{} // that the time is over is said after it
	o.writeError(err)
}
