package faults

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// balancer is a simple load balancer. It sends each request to the next server, even if that is not healthy.
type balancer struct {
	Config *rest.Config // for its clients
	server *httptest.Server

	mu      sync.Mutex // guards what follows
	servers []*url.URL
	next    int
	asked   []int // how many requests each server got
}

// startBalancer balances over the servers at these addresses until the test ends.
func startBalancer(t *testing.T, addresses ...string) *balancer {
	t.Helper()
	b := &balancer{servers: make([]*url.URL, len(addresses)), asked: make([]int, len(addresses))}
	for i, address := range addresses {
		b.replace(t, i, address)
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the test's own servers
		ForceAttemptHTTP2: true, DisableCompression: true,
	}
	b.server = serveProxy(t, &httputil.ReverseProxy{
		Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(b.pick()) },
	})
	t.Cleanup(transport.CloseIdleConnections)
	b.Config = configOf(b.server)
	return b
}

// serveProxy serves a proxy over TLS and HTTP/2 until the test ends.
func serveProxy(t *testing.T, proxy *httputil.ReverseProxy) *httptest.Server {
	t.Helper()
	proxy.FlushInterval = -1 // an event goes out when it arrives
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	server := httptest.NewUnstartedServer(proxy)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = proxy.ErrorLog
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections() // Close waits for requests
		server.Close()
	})
	return server
}

func configOf(server *httptest.Server) *rest.Config {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}, QPS: -1}
}

func (b *balancer) pick() *url.URL {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := b.next % len(b.servers)
	b.next++
	b.asked[i]++
	return b.servers[i]
}

// replace replaces a server by another.
func (b *balancer) replace(t *testing.T, i int, address string) {
	t.Helper()
	server, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[i] = server
}

// leave removes a server from the balancer, because another test's server could get its port.
func (b *balancer) leave(t *testing.T, i int) {
	t.Helper()
	b.replace(t, i, "https://"+suite.FreeAddress(t))
}

// requests returns the number of requests to each server.
func (b *balancer) requests() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]int(nil), b.asked...)
}

// cut closes all connections of clients.
func (b *balancer) cut() { b.server.CloseClientConnections() }
