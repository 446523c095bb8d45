package split

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"

	"github.com/listfacade/listfacade/internal/upstream"
)

// Sizes of the buffers that copy answers, in bytes. A watch keeps its buffer for its lifetime, so watchBuffer is only
// as large as an HTTP/2 frame. A smaller buffer would cost more system calls.
const (
	answerBuffer = 32 << 10
	watchBuffer  = 16 << 10
)

type buffers struct{ pool sync.Pool }

func newBuffers(size int) *buffers {
	return &buffers{pool: sync.Pool{New: func() any { b := make([]byte, size); return &b }}}
}

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte { return *b.pool.Get().(*[]byte) }

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }

// writer is the http.ResponseWriter of one answer, and the pool for its buffer. After a failed write, HTTP/2 may still
// read the buffer, so the buffer does not return to the pool.
type writer struct {
	http.ResponseWriter
	httputil.BufferPool
	failed bool
}

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.failed = w.failed || err != nil
	return n, err
}

// Unwrap returns the wrapped writer to http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Put implements httputil.BufferPool.
func (w *writer) Put(buffer []byte) {
	if !w.failed {
		w.BufferPool.Put(buffer)
	}
}

// forwarder contains the proxies for requests and for watches. The method serve copies one of them for each request,
// because each request has its own BufferPool.
type forwarder struct {
	answers, watches *httputil.ReverseProxy
}

// newForwarder returns a forwarder that uses a transport. address sets the URL of the outgoing request.
func newForwarder(transport http.RoundTripper, address func(*httputil.ProxyRequest), hop upstream.Hop,
	errorLog *log.Logger) forwarder {
	proxy := func(size int) *httputil.ReverseProxy {
		return &httputil.ReverseProxy{
			Rewrite: func(p *httputil.ProxyRequest) {
				address(p)
				forward(p)
				hop.Sign(p.Out.Header, p.In.Header)
			},
			Transport: transport, FlushInterval: -1, BufferPool: newBuffers(size), ErrorLog: errorLog,
			ModifyResponse: modify, ErrorHandler: failed,
		}
	}
	return forwarder{answers: proxy(answerBuffer), watches: proxy(watchBuffer)}
}

// forward adds the client's address to X-Forwarded-For, as kube-apiserver's own proxies do. kube-apiserver's audit log
// shows this header. Other forwarding headers of the client are passed on unchanged.
func forward(p *httputil.ProxyRequest) {
	for _, name := range []string{"Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = values
		}
	}
	client, _, err := net.SplitHostPort(p.In.RemoteAddr)
	if err != nil {
		return
	}
	p.Out.Header.Set("X-Forwarded-For", strings.Join(append(p.In.Header.Values("X-Forwarded-For"), client), ", "))
}

// sendOnce makes http.Transport send a write without a body only once. If the header of such a write has one of these
// keys, the transport repeats the write after an error. sendOnce writes the keys in lower case: http.Transport does not
// find such keys, but they mean the same to servers. kube-apiserver does not support these keys.
func sendOnce(header http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := header[name]; ok {
			delete(header, name)
			header[strings.ToLower(name)] = values
		}
	}
}

// exchange is a received request with the data for its error handler. The context of the forwarded request contains the
// exchange.
type exchange struct {
	request *http.Request // as received
	fail    func(w http.ResponseWriter, x *exchange, err error)
	watch   bool
}

type exchangeKey struct{}

// serve forwards a request and calls fail if there is no answer.
func (f forwarder) serve(w http.ResponseWriter, r *http.Request, watch bool,
	fail func(w http.ResponseWriter, x *exchange, err error)) {
	x := &exchange{request: r, fail: fail, watch: watch}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	proxy := *f.answers
	if watch {
		proxy = *f.watches
	}
	out := &writer{ResponseWriter: w, BufferPool: proxy.BufferPool}
	proxy.BufferPool = out
	proxy.ServeHTTP(out, r)
}

// failed is the ErrorHandler of all ReverseProxies.
func failed(w http.ResponseWriter, r *http.Request, err error) {
	x := r.Context().Value(exchangeKey{}).(*exchange)
	x.fail(w, x, err)
}

// modify adds a warning to an answer that refuses a token. If the proxy ends a watch, modify makes its answer end
// without an error.
func modify(answer *http.Response) error {
	ctx := answer.Request.Context()
	x := ctx.Value(exchangeKey{}).(*exchange)
	if answer.StatusCode == http.StatusUnauthorized && hasToken(x.request) && !isProxied(x.request) {
		answer.Header.Add("Warning", warnRefused)
	}
	if x.watch && answer.StatusCode == http.StatusOK {
		answer.Body = &endingBody{ReadCloser: answer.Body, ctx: ctx}
	}
	return nil
}

// hasToken reports whether a request has a bearer token. kube-apiserver ignores the case of the scheme.
func hasToken(r *http.Request) bool {
	scheme, _, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	return strings.EqualFold(scheme, "Bearer")
}

// isProxied reports whether kube-apiserver passes a request on to a node, pod or service, which may send its own 401.
func isProxied(r *http.Request) bool {
	info, err := paths.NewRequestInfo(r)
	return err == nil && (info.Subresource == "proxy" || info.Verb == "proxy")
}

// endingBody is the body of a watch. It ends when the cause of its context is upstream.ErrEnd.
type endingBody struct {
	io.ReadCloser
	ctx context.Context
}

func (b *endingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && errors.Is(context.Cause(b.ctx), upstream.ErrEnd) {
		err = io.EOF
	}
	return n, err
}
