package split

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// counted is a server that forwards requests to another server and records them.
type counted struct {
	*httptest.Server
	caFile   string
	down     atomic.Bool // it answers no request
	mu       sync.Mutex  // guards received
	received []received  // without health checks
}

// received is a request: its method and URI, and the program in its User-Agent.
type received struct{ line, agent string }

// count starts a counting server in front of a server until the test ends.
func count(t *testing.T, address string) *counted {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{caFile: filepath.Join(t.TempDir(), "ca.crt")}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, Transport: newTransports(t), FlushInterval: -1,
		ErrorLog:     log.New(io.Discard, "", 0), // connections end with the test
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.down.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path != "/readyz" {
			agent, _, _ := strings.Cut(r.UserAgent(), "/")
			c.mu.Lock()
			c.received = append(c.received, received{r.Method + " " + r.URL.RequestURI(), agent})
			c.mu.Unlock()
		}
		proxy.ServeHTTP(w, r)
	}))
	c.EnableHTTP2 = true
	c.Config.ErrorLog = proxy.ErrorLog
	c.StartTLS()
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
	})
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
	if err := os.WriteFile(c.caFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// transports sends reads with HTTP/2, and other requests with HTTP/1.1, as the proxy does.
type transports struct{ reads, others *http.Transport }

func newTransports(t *testing.T) *transports {
	insecure := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the test's own servers
	p := &transports{
		reads:  &http.Transport{TLSClientConfig: insecure, ForceAttemptHTTP2: true, DisableCompression: true},
		others: &http.Transport{TLSClientConfig: insecure.Clone(), DisableCompression: true},
	}
	t.Cleanup(p.reads.CloseIdleConnections)
	t.Cleanup(p.others.CloseIdleConnections)
	return p
}

// RoundTrip implements http.RoundTripper.
func (p *transports) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && r.Header.Get("Upgrade") == "" {
		return p.reads.RoundTrip(r)
	}
	return p.others.RoundTrip(r)
}

// interrupt ends all requests, and answers no other ones until resume.
func (c *counted) interrupt() {
	c.down.Store(true)
	c.CloseClientConnections()
}

func (c *counted) resume() { c.down.Store(false) }

// all returns the recorded requests.
func (c *counted) all() []received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.received)
}

var parser = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// parsed returns what kube-apiserver reads from a recorded request.
func (r received) parsed(t *testing.T) *request.RequestInfo {
	t.Helper()
	method, uri, _ := strings.Cut(r.line, " ")
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		t.Fatal(err)
	}
	info, err := parser.NewRequestInfo(&http.Request{Method: method, URL: u})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// isCacheable reports whether a facade caches the answer of a recorded request.
func (r received) isCacheable(t *testing.T) bool {
	t.Helper()
	info := r.parsed(t)
	return info.IsResourceRequest && (info.Verb == "list" || info.Verb == "watch") && info.Subresource == "" &&
		info.Resource != "secrets" && info.Resource != "leases"
}

// checkTargets fails if the facade received anything but a GET of a resource or document, or kube-apiserver a list or
// watch of a cached resource. It also fails if the facade received no watch of a resource from a program.
func (s *site) checkTargets(t *testing.T, agent, resource string) {
	t.Helper()
	reads, others, watches := s.reads.all(), s.apiServer.all(), 0
	for _, one := range reads {
		info := one.parsed(t)
		if !strings.HasPrefix(one.line, "GET ") || info.Subresource != "" {
			t.Errorf("the facade received from %s: %s", one.agent, one.line)
		}
		if one.agent == agent && info.Verb == "watch" && info.Resource == resource {
			watches++
		}
	}
	for _, one := range others {
		if one.isCacheable(t) {
			t.Errorf("kube-apiserver received from %s: %s", one.agent, one.line)
		}
	}
	if watches == 0 {
		t.Errorf("the facade received no watch of %s from %s", resource, agent)
	}
	t.Logf("the facade received %d requests, kube-apiserver %d", len(reads), len(others))
}
