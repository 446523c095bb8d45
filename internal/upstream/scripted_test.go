package upstream

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// scripted is a kube-apiserver of a cluster, with the requests that endpoints send.
type scripted struct {
	*httptest.Server
	uid        atomic.Pointer[string]
	refusesUID atomic.Int64 // code of its refusal to report its cluster; 0 for none
	refused    atomic.Bool  // refuses the credentials of every request
	unready    atomic.Bool
	hangs      atomic.Bool
	hung       chan struct{} // receives when a request hangs, if there is space
	breaks     atomic.Bool   // breaks the connection after a request has arrived
	asked      atomic.Int64  // requests other than checks of the endpoint
	bodies     atomic.Pointer[string]
	ended      atomic.Bool // no listener any more
}

func newScripted(t *testing.T, uid string) *scripted {
	t.Helper()
	s := &scripted{hung: make(chan struct{}, 1)}
	s.uid.Store(&uid)
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.end)
	return s
}

// end behaves like a process that ends: its connections break, and no other is accepted.
func (s *scripted) end() {
	s.ended.Store(true)
	s.CloseClientConnections()
	s.Close()
}

// dial connects to one of the servers, but to none that has ended, because another test may use its port by now.
func dial(servers []*scripted) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		for _, s := range servers {
			if s.Listener.Addr().String() == address && s.ended.Load() {
				return nil, &net.OpError{Op: "dial", Net: network, Addr: s.Listener.Addr(), Err: syscall.ECONNREFUSED}
			}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.hangs.Load() {
		select {
		case s.hung <- struct{}{}:
		default:
		}
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // a return would answer with a 200, which a client that is leaving may still read
	}
	switch code := int(s.refusesUID.Load()); {
	case s.refused.Load():
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == clusterPath && code != 0:
		w.WriteHeader(code)
	case r.URL.Path == "/readyz" && s.unready.Load():
		w.WriteHeader(http.StatusInternalServerError)
	case r.URL.Path == "/readyz":
	case r.URL.Path == clusterPath:
		_, _ = fmt.Fprintf(w, `{"metadata":{"uid":%q}}`, *s.uid.Load())
	default:
		s.asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		text := string(body)
		s.bodies.Store(&text)
		if s.breaks.Load() {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		if r.URL.Query().Has("watch") {
			<-r.Context().Done()
		}
	}
}

// behind returns the endpoints of servers, and a client of them.
func behind(t *testing.T, servers ...*scripted) (*Endpoints, *Client) {
	t.Helper()
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.URL)
	}
	config := &rest.Config{Host: "https://elsewhere.invalid", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, Dial: dial(servers)}
	e, err := NewEndpoints(urls, config, Hop{}, func(m Move) { t.Logf("%+v", m) })
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range e.all {
		one.wait = time.Hour // a response comes, however late: see hang
	}
	client, err := NewClient(e.Config(config), Hop{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.CloseIdle()
		for _, one := range e.all {
			one.client.CloseIdle()
		}
	})
	return e, client
}

// hang makes servers hang, and their checks wait, until the returned function is called.
func (e *Endpoints) hang(servers ...*scripted) (over func()) {
	set := func(hangs bool, wait time.Duration) {
		for _, one := range e.all {
			for _, s := range servers {
				if s.URL == one.url.String() {
					s.hangs.Store(hangs)
					one.wait = wait
				}
			}
		}
	}
	set(true, 100*time.Millisecond)
	return func() { set(false, time.Hour) }
}

func (e *Endpoints) inUse() int {
	for i, state := range e.States() {
		if state.InUse {
			return i
		}
	}
	return -1
}

func ask(t *testing.T, c *Client, ok bool) {
	t.Helper()
	if _, err := c.Get(t.Context(), Target{Path: "/api"}, MediaJSON, 100); (err == nil) != ok {
		t.Fatalf("check: %v", err)
	}
}
