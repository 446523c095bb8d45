package informers

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// freezingProxy is a proxy between a facade and its upstream. When it is frozen, the facade's watches receive nothing
// more and new ones are refused, as by an overloaded upstream. Other requests are forwarded.
type freezingProxy struct {
	kubeconfig string
	frozen     chan struct{}
}

func newFreezingProxy(t *testing.T, config *rest.Config) *freezingProxy {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	l := &freezingProxy{frozen: make(chan struct{})}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		ModifyResponse: func(r *http.Response) error {
			if ownWatch(r.Request) {
				r.Body = &frozenBody{ReadCloser: r.Body, frozen: l.frozen, ctx: r.Request.Context()}
			}
			return nil
		},
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ownWatch(r) && l.isFrozen() {
			http.Error(w, "too many watches", http.StatusTooManyRequests)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	l.kubeconfig = testkit.WriteInsecureKubeconfig(t, server.URL)
	return l
}

// ownWatch reports whether a watch is the facade's own. Forwarded watches have the client's User-Agent.
func ownWatch(r *http.Request) bool {
	return r.UserAgent() == "listfacade" && r.URL.Query().Has("watch")
}

func (l *freezingProxy) freeze() { close(l.frozen) }

func (l *freezingProxy) isFrozen() bool {
	select {
	case <-l.frozen:
		return true
	default:
		return false
	}
}

// frozenBody is a body that sends nothing after it is frozen.
type frozenBody struct {
	io.ReadCloser
	frozen <-chan struct{}
	ctx    context.Context
}

// Read implements io.Reader.
func (f *frozenBody) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	select {
	case <-f.frozen:
		<-f.ctx.Done()
		return 0, f.ctx.Err()
	default:
		return n, err
	}
}
