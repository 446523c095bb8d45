package faults

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// serverBalancer is a balancer of the cluster's kube-apiservers. It sends requests to them in turn, unless the test
// selects one. It can hold back and end watches.
type serverBalancer struct {
	kubeconfig string
	names      []string // of the servers, in their order

	mu      sync.Mutex                 // guards what follows
	turn    map[bool]int               // of watches and of everything else
	route   func(*http.Request) string // the server of a request; "" is whose turn it is
	hold    func(*http.Request) bool   // watches of which nothing gets through
	changed chan struct{}              // closed and replaced when hold changes
	open    map[*heldBody]bool
	served  map[string]int // watches that were opened, by server
}

func newBalancer(t *testing.T, c *testkit.Cluster) *serverBalancer {
	t.Helper()
	b := &serverBalancer{
		names: slices.Sorted(maps.Keys(c.Servers)), turn: map[bool]int{}, changed: make(chan struct{}), open: map[*heldBody]bool{}, served: map[string]int{},
		route: func(*http.Request) string { return "" }, hold: func(*http.Request) bool { return false },
	}
	config := suite.FacadeConfig(t, c)
	config.DisableCompression = true // the transport would ask for it in the facade's name
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	proxies := map[string]*httputil.ReverseProxy{}
	for name, server := range c.Servers {
		target, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.FlushInterval = -1
		proxy.ErrorLog = log.New(io.Discard, "", 0) // servers are killed and watches cut
		proxy.Transport = transport
		proxy.ModifyResponse = func(response *http.Response) error { b.adopt(name, response); return nil }
		proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
		proxies[name] = proxy
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proxies[b.pick(r)].ServeHTTP(w, r) }))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b.kubeconfig = testkit.WriteInsecureKubeconfig(t, server.URL)
	return b
}

// pick chooses the server of a request.
func (b *serverBalancer) pick(r *http.Request) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if name := b.route(r); name != "" {
		return name
	}
	b.turn[isWatch(r)]++
	return b.names[b.turn[isWatch(r)]%len(b.names)]
}

// send sets the function that selects the server of a request. An empty name selects the next in turn.
func (b *serverBalancer) send(route func(*http.Request) string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.route = route
}

// to routes all requests to one server, or to each in turn if the name is empty.
func to(name string) func(*http.Request) string { return func(*http.Request) string { return name } }

// isWatch reports whether a request opens a watch.
func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// isLanes reports whether a request opens a watch of a lane. Forwarded watches of clients and progress watches are not.
func isLanes(r *http.Request) bool {
	return isWatch(r) && r.Header.Get("User-Agent") == "listfacade" && r.URL.Query().Get("timeoutSeconds") != "3"
}

// watchesTo routes watches to one server and all other requests to another.
func watchesTo(watches, others string) func(*http.Request) string {
	return func(r *http.Request) string {
		if isWatch(r) {
			return watches
		}
		return others
	}
}

// holdBack holds back the watches that hold selects, also open ones, until it is called again.
func (b *serverBalancer) holdBack(hold func(*http.Request) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hold = hold
	close(b.changed)
	b.changed = make(chan struct{})
}

// cut ends the open watches cleanly, like a server after their timeout. It first waits until a lane's watch is settled,
// because one that ends sooner is resumed after an increasing delay.
func (b *serverBalancer) cut(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "a lane's watch has been open for long enough", func() error {
		if age := b.oldest(); age < settled {
			return fmt.Errorf("the oldest watch is open for %s", age)
		}
		return nil
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	for body := range b.open {
		close(body.over)
		delete(b.open, body)
		go func() { _ = body.ReadCloser.Close() }() // it may wait for the server
	}
}

// settled is the age at which a watch that ends is resumed immediately.
const settled = 1100 * time.Millisecond

// oldest returns the age of the lanes' oldest open watch.
func (b *serverBalancer) oldest() (age time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for body := range b.open {
		if isLanes(body.request) {
			age = max(age, time.Since(body.since))
		}
	}
	return age
}

// opened returns the number of watches that were sent to a server.
func (b *serverBalancer) opened(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.served[name]
}

// adopt registers a watch, so that the balancer can hold it back and end it.
func (b *serverBalancer) adopt(name string, response *http.Response) {
	if !isWatch(response.Request) || response.StatusCode != http.StatusOK {
		return
	}
	body := &heldBody{ReadCloser: response.Body, balancer: b, request: response.Request, since: time.Now(), over: make(chan struct{})}
	response.Body = body
	b.mu.Lock()
	defer b.mu.Unlock()
	b.served[name]++
	b.open[body] = true
}

// held reports whether a watch is held back, and returns a channel that is closed when that may have changed.
func (b *serverBalancer) held(r *http.Request) (bool, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hold(r), b.changed
}

// heldBody is a watch's body that the balancer may hold back or end.
type heldBody struct {
	io.ReadCloser
	balancer *serverBalancer
	request  *http.Request
	since    time.Time
	over     chan struct{}
}

// Read implements io.Reader.
func (h *heldBody) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	for {
		held, changed := h.balancer.held(h.request)
		select {
		case <-h.over:
			return 0, io.EOF
		default:
		}
		if !held {
			return n, err
		}
		select {
		case <-changed:
		case <-h.over:
		case <-h.request.Context().Done():
			return 0, context.Cause(h.request.Context())
		}
	}
}

// Close implements io.Closer.
func (h *heldBody) Close() error {
	h.balancer.mu.Lock()
	delete(h.balancer.open, h)
	h.balancer.mu.Unlock()
	return h.ReadCloser.Close()
}
