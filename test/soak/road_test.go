package soak

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// road is a proxy between the facade and kube-apiserver that injects faults: it answers requests itself, cuts
// connections, or blocks all bytes.
type road struct {
	kubeconfig string // for clients of the proxy, which forwards with the rights of the administrator
	server     *httptest.Server
	onward     *http.Transport

	mu      sync.Mutex // guards the fields below
	answers http.HandlerFunc
	spoils  []byte // sent in streams instead of frames
	version string // reported version of the server; "" is its own
	clear   chan struct{}
	open    map[*roadConn]bool
	active  int // requests in flight
}

func newRoad(t *testing.T, config *rest.Config) *road {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	r := &road{clear: make(chan struct{}), open: map[*roadConn]bool{}}
	close(r.clear)
	if _, r.onward, err = newClient(config); err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, Transport: r.onward, FlushInterval: -1, ModifyResponse: r.pass,
		ErrorLog: log.New(io.Discard, "", 0), // kills of servers cause errors
		// A connection to a dead server breaks, as without the proxy.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	r.server = httptest.NewUnstartedServer(r.count(proxy))
	r.server.Listener = &roadListener{Listener: r.server.Listener, road: r}
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0) // connections are cut
	r.server.EnableHTTP2 = true
	r.server.StartTLS()
	r.kubeconfig = testkit.WriteInsecureKubeconfig(t, r.server.URL)
	t.Cleanup(r.close)
	return r
}

func (r *road) close() {
	r.repair()
	r.cut()
	r.server.Close()
	r.onward.CloseIdleConnections()
}

// count serves requests, by the proxy or by a fault's handler, and counts those in flight.
func (r *road) count(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		r.active++
		answer := r.answers
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.active--
		}()
		w.Header().Set(roadHeader, "1")
		if answer != nil {
			answer(w, request)
			return
		}
		proxy.ServeHTTP(w, request)
	})
}

// roadHeader is a header of every answer of the proxy, and so of forwarded answers. The facade forwards only headers
// that kube-apiserver uses.
const roadHeader = "X-Kubernetes-Road"

// gitVersion matches the version in /version.
var gitVersion = regexp.MustCompile(`"gitVersion": *"[^"]*"`)

// pass changes an answer of kube-apiserver.
func (r *road) pass(response *http.Response) error {
	r.mu.Lock()
	version := r.version
	r.mu.Unlock()
	switch {
	case response.Request.URL.Path == "/version" && version != "":
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		body = gitVersion.ReplaceAll(body, fmt.Appendf(nil, `"gitVersion": %q`, version))
		response.Body = io.NopCloser(bytes.NewReader(body))
		response.ContentLength = int64(len(body))
		response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	case response.Request.URL.Query().Has("watch"):
		response.Body = &spoiled{ReadCloser: response.Body, road: r}
	}
	return nil
}

// spoiled is a stream whose frames can be replaced by garbage.
type spoiled struct {
	io.ReadCloser
	road *road
}

// Read implements io.Reader.
func (s *spoiled) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.road.mu.Lock()
	defer s.road.mu.Unlock()
	if n == 0 || s.road.spoils == nil {
		return n, err
	}
	return copy(p, s.road.spoils), err
}

// answer sets a handler that answers all requests.
func (r *road) answer(with http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = with
}

// spoil replaces the frames of streams.
func (r *road) spoil(with []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spoils = with
}

// pretend sets the version that the server reports.
func (r *road) pretend(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = version
}

// pretends returns the version that the server reports.
func (r *road) pretends() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version
}

// block blocks all bytes without closing connections.
func (r *road) block() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clear = make(chan struct{})
}

// repair ends all faults.
func (r *road) repair() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers, r.spoils = nil, nil
	select {
	case <-r.clear:
	default:
		close(r.clear)
	}
}

// cut closes every connection.
func (r *road) cut() {
	r.mu.Lock()
	var open []*roadConn
	for c := range r.open {
		open = append(open, c)
	}
	r.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
}

// empty returns an error if connections or requests are open.
func (r *road) empty() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) > 0 || r.active > 0 {
		return fmt.Errorf("%d connections are open, %d requests in flight", len(r.open), r.active)
	}
	return nil
}

func (r *road) way() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clear
}

// roadListener accepts connections that the proxy can block and cut.
type roadListener struct {
	net.Listener
	road *road
}

// Accept implements net.Listener.
func (l *roadListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &roadConn{Conn: conn, road: l.road, closed: make(chan struct{})}
	l.road.mu.Lock()
	defer l.road.mu.Unlock()
	l.road.open[c] = true
	return c, nil
}

// roadConn is a connection that the proxy can block and cut.
type roadConn struct {
	net.Conn
	road   *road
	once   sync.Once
	closed chan struct{}
}

var errCut = errors.New("the connection was cut")

func (c *roadConn) pass() error {
	select {
	case <-c.road.way():
		return nil
	case <-c.closed:
		return errCut
	}
}

// Read implements net.Conn.
func (c *roadConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if blocked := c.pass(); blocked != nil {
		return 0, blocked
	}
	return n, err
}

// Write implements net.Conn.
func (c *roadConn) Write(p []byte) (int, error) {
	if blocked := c.pass(); blocked != nil {
		return 0, blocked
	}
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *roadConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.road.mu.Lock()
		delete(c.road.open, c)
		c.road.mu.Unlock()
	})
	return c.Conn.Close()
}
