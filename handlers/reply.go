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

// reply writes one response to its client. The client must accept each piece within the write timeout, and the complete
// response within the request's timeout. Otherwise a slow client could keep a goroutine and a State forever.
type reply struct {
	w             middleware.WrapResponseWriter
	r             *http.Request // for the handshake of a websocket, and for the media type of an error
	event         *observe.Event
	observer      observe.Observer
	log           *zap.Logger
	timeout       time.Duration       // for each piece
	until         time.Time           // end of the request's timeout; zero for a long-running request
	yamlSeats     *semaphore.Weighted // limits conversions to YAML
	precompressed *wire.Precompressed // cache of precompressed pages
	out           timedWriter
	seat          seat
	turn          turn
	answers       bool // whether the start of a long-running response was reported

	progress observe.Progress // progress of the event; other goroutines read it

	cancel    context.CancelCauseFunc // ends a long-running request
	watches   bool                    // the request is a watch, whose response may end at any event
	displaced atomic.Bool             // whether the request must end in favour of another request

	rest func() error // writes the rest of a long-running response; nil if the response is complete
	ends []func()     // functions to call at the end of the response, the last one first
}

// newReply starts a response with the headers of all responses (semantics 6.7), and the Event of its request.
func newReply(w http.ResponseWriter, r *http.Request, log *zap.Logger, timeout time.Duration) *reply {
	id := auditIDOf(r.Header)
	r.Header.Set("Audit-Id", id) // for the upstream, if the request is forwarded
	w.Header().Set("Audit-Id", id)
	w.Header().Set("Cache-Control", "no-cache, private")
	if r.ProtoMajor == 1 { // a deadline of the previous response on the connection may remain
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	o := &reply{
		w: middleware.NewWrapResponseWriter(w, r.ProtoMajor), r: r, log: log, timeout: timeout, observer: observe.Ignore{},
		event: &observe.Event{
			AuditID: id, Client: r.RemoteAddr, UserAgent: r.UserAgent(), Header: r.Header, Method: r.Method,
			URI:    r.URL.RequestURI(),
			Source: observe.FromFacade, Began: time.Now(),
		},
	}
	o.progress.Follow(o.event)
	o.out = timedWriter{reply: o, control: http.NewResponseController(o.w)}
	o.seat.control = o.out.control
	o.boundBody()
	return o
}

// probes are the prefixes of paths that are served until the process ends.
var probes = []string{"/readyz", "/livez", "/healthz", "/metrics"}

func (o *reply) isProbe() bool {
	return slices.ContainsFunc(probes, func(probe string) bool { return strings.HasPrefix(o.r.URL.Path, probe) })
}

func (o *reply) isMultiplexed() bool { return o.r.ProtoMajor == 2 }

// boundBody limits the wait for a request's body. The facade reads few bodies, such as those of reviews. Over HTTP/1,
// net/http reads other bodies before it sends a response or reads the next request. It does not read them if the
// connection ends with the response.
func (o *reply) boundBody() {
	if o.r.ContentLength == 0 {
		return
	}
	_ = o.out.control.SetReadDeadline(time.Now().Add(o.timeout)) // over HTTP/2, this deadline applies only to the stream
	if o.r.ProtoMajor == 1 {
		o.header().Set("Connection", "close")
	}
}

// atEnd adds a function to call at the end of the response. Functions that were added later are called first.
func (o *reply) atEnd(do func()) { o.ends = append(o.ends, do) }

// finishLongRunning writes the rest of a long-running response. It is called with a nearly empty stack: thousands of
// watches have a stack each, and Go shrinks stacks that are hardly used.
func (o *reply) finishLongRunning() error {
	if o.rest == nil {
		return nil
	}
	return o.rest()
}

func (o *reply) leave() { o.leaveTo(0) }

// leaveTo calls the functions in o.ends from the index first on, and removes them.
func (o *reply) leaveTo(first int) {
	ends := o.ends[first:]
	o.ends = o.ends[:first]
	for _, do := range ends {
		defer do() // the last one first, even if another one panics
	}
}

// finish completes the Event. It also sets a deadline for the bytes that net/http still has to send.
func (o *reply) finish() *observe.Event {
	_ = o.out.end()
	e := o.event
	if e.LongRunning {
		o.answering(o.w.Status()) // has no effect after another report
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

// errDisplaced is the cause with which displace cancels the response with the log of a container.
var errDisplaced = errors.New("another request took the seat")

// displace ends a long-running request, because another request took its seat. The other request's goroutine calls
// displace. A watch ends without an error, so that its client resumes it. The log of a container is broken off, because
// it would otherwise look complete.
func (o *reply) displace() {
	o.displaced.Store(true)
	if o.watches {
		o.cancel(upstream.ErrEnd)
	} else {
		o.cancel(errDisplaced)
	}
}

// answering reports the start of a long-running response, once.
func (o *reply) answering(code int) {
	if o.answers {
		return
	}
	o.answers = true
	if !o.watches { // a watch keeps its turn until the client has accepted all events for the first time
		o.endTurn()
	}
	o.event.Code, o.event.Started = code, time.Since(o.event.Began)
	o.observer.Answering(o.event)
}

func (o *reply) header() http.Header { return o.w.Header() }

// time returns a context that ends with the request's timeout, or when the client is gone.
func (o *reply) time() (context.Context, context.CancelFunc) {
	if o.until.IsZero() {
		return context.WithCancel(o.r.Context())
	}
	return context.WithDeadline(o.r.Context(), o.until)
}

func (o *reply) chunked() bool { return o.r.ProtoMajor == 1 }

func (o *reply) acceptEncoding() string { return o.r.Header.Get("Accept-Encoding") }

// pieces returns the writer for the response, which limits the time for each piece.
func (o *reply) pieces() *timedWriter { return &o.out }

func (o *reply) hand(handler http.Handler) { handler.ServeHTTP(o.paced(), o.r) }

func (o *reply) handConnection(conn *takenConn, handler http.Handler) {
	handler.ServeHTTP(&takeover{ResponseWriter: o.w, conn: conn}, o.r)
}

var errOrigin = errors.New("the websocket's Origin is not the requested host")

// checkOrigin accepts only requests whose Origin is the host that received the request. Browsers set the Origin for
// every page. No other rule in browsers prevents a page from opening a websocket to another host and reading from it.
func checkOrigin(config *websocket.Config, r *http.Request) (err error) {
	if config.Origin, err = websocket.Origin(config, r); err != nil {
		return err
	}
	if config.Origin == nil || !strings.EqualFold(config.Origin.Host, r.Host) {
		return errOrigin
	}
	return nil
}

// checkOrigin refuses a page of another host, and reports the refusal.
func (o *reply) checkOrigin(config *websocket.Config, r *http.Request) error {
	err := checkOrigin(config, r)
	if err != nil {
		o.answering(http.StatusForbidden)
	}
	return err
}

func (o *reply) fail(err error) {
	if o.w.Status() != 0 {
		panic(http.ErrAbortHandler) // a body that broke off must not look complete
	}
	o.until = time.Time{} // the error may be written after the timeout
	o.writeError(err)
}
