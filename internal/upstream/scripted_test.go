package upstream

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// scripted is a kube-apiserver of a cluster, as far as endpoints are concerned.
type scripted struct {
	*httptest.Server
	uid     atomic.Pointer[string]
	untold  atomic.Int64 // the code with which it refuses to tell; 0 for none
	refused atomic.Bool  // the credentials, whatever is asked
	unready atomic.Bool
	hangs   atomic.Bool
	hung    chan struct{} // is sent to when a request hangs, if there is room
	breaks  atomic.Bool   // the connection, when a request has come
	asked   atomic.Int64  // what is not about the endpoint
	bodies  atomic.Pointer[string]
}

func newScripted(t *testing.T, uid string) *scripted {
	t.Helper()
	s := &scripted{hung: make(chan struct{}, 1)}
	s.uid.Store(&uid)
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.hangs.Load() {
		select {
		case s.hung <- struct{}{}:
		default:
		}
		<-r.Context().Done()
		return
	}
	switch code := int(s.untold.Load()); {
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

// behind makes endpoints of servers, and a client of them.
func behind(t *testing.T, servers ...*scripted) (*Endpoints, *Client) {
	t.Helper()
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.URL)
	}
	config := &rest.Config{Host: "https://elsewhere.invalid", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	e, err := NewEndpoints(urls, config, Hop{}, func(m Move) { t.Logf("%+v", m) })
	if err != nil {
		t.Fatal(err)
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
		t.Fatalf("asked: %v", err)
	}
}
