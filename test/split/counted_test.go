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
	caFile string
	down   atomic.Bool // it answers no request
	mu     sync.Mutex  // guards received
	// received contains method and URI of each request that is not a health check.
	received []string
}

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
			c.mu.Lock()
			c.received = append(c.received, r.Method+" "+r.URL.RequestURI())
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

// lines returns the recorded requests.
func (c *counted) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.received)
}

// forget removes the recorded requests.
func (c *counted) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = nil
}

var parser = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// parsed returns what kube-apiserver reads from a recorded request.
func parsed(t *testing.T, line string) *request.RequestInfo {
	t.Helper()
	method, uri, _ := strings.Cut(line, " ")
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
func isCacheable(t *testing.T, line string) bool {
	t.Helper()
	info := parsed(t, line)
	return info.IsResourceRequest && (info.Verb == "list" || info.Verb == "watch") && info.Subresource == "" &&
		info.Resource != "secrets" && info.Resource != "leases"
}

// checkTargets fails if the facade received anything but a GET of a resource or document, or kube-apiserver a list or
// watch of a cached resource.
func checkTargets(t *testing.T, facade, apiServer *counted) {
	t.Helper()
	reads, others := facade.lines(), apiServer.lines()
	for _, line := range reads {
		if info := parsed(t, line); !strings.HasPrefix(line, "GET ") || info.Subresource != "" {
			t.Errorf("the facade received %s", line)
		}
	}
	for _, line := range others {
		if isCacheable(t, line) {
			t.Errorf("kube-apiserver received %s", line)
		}
	}
	t.Logf("the facade received %d requests, kube-apiserver %d", len(reads), len(others))
}
