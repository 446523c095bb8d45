package faults

import (
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// slowProxy is a proxy of kube-apiserver that can hold back watches, like a slow network or server. Other answers are
// not delayed.
type slowProxy struct {
	*gate
	kubeconfig string // of a client that takes it, with the rights of a facade
}

func newSlowProxy(t *testing.T, upstream *testkit.Cluster) *slowProxy {
	t.Helper()
	config := suite.FacadeConfig(t, upstream)
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	slow := &slowProxy{gate: newGate()}
	proxy := &httputil.ReverseProxy{
		Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(response *http.Response) error {
			if response.Request.URL.Query().Has("watch") {
				response.Body = &gatedBody{ReadCloser: response.Body, ctx: response.Request.Context(), gate: slow.gate}
			}
			return nil
		},
	}
	slow.kubeconfig = testkit.WriteInsecureKubeconfig(t, serveProxy(t, proxy).URL)
	return slow
}

// gate passes bytes or holds them back.
type gate struct {
	mu   sync.Mutex // guards open
	open chan struct{}
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) state() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// shut holds back all further bytes.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		g.open = make(chan struct{})
	default:
	}
}

// release passes the bytes that were held back.
func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// gatedBody is the body of a watch behind a gate.
type gatedBody struct {
	io.ReadCloser
	ctx  context.Context // of its request
	gate *gate
}

// Read implements io.Reader.
func (b *gatedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	select {
	case <-b.gate.state():
		return n, err
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}
