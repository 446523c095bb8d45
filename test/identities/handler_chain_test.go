package identities

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// facadeToken identifies the facade's own requests to a road.
const facadeToken = "the-facade-itself"

// road is a proxy between a facade and kube-apiserver that records requests. It replaces the token of the facade's own
// requests by a client certificate. It forwards all other requests unchanged, on connections without a certificate.
type road struct {
	kubeconfig string

	mu       sync.Mutex // guards the fields below
	passed   []passed
	diverted map[string]http.HandlerFunc // by path
}

// passed is a recorded request.
type passed struct {
	*http.Request
	body []byte
	own  bool // sent with the facade's own token
}

func newRoad(t *testing.T, w *world) *road {
	t.Helper()
	config, err := w.Config("listfacade")
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	r := &road{diverted: map[string]http.HandlerFunc{}}
	own, others := proxyWith(t, config, to), proxyWith(t, rest.AnonymousClientConfig(config), to)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		seen := r.remember(t, request)
		r.mu.Lock()
		divert := r.diverted[request.URL.Path]
		r.mu.Unlock()
		switch {
		case divert != nil:
			divert(w, request)
		case seen.own:
			request.Header.Del("Authorization")
			own.ServeHTTP(w, request)
		default:
			others.ServeHTTP(w, request)
		}
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections() // Close waits for requests
		server.Close()
	})
	r.kubeconfig = testkit.WriteKubeconfig(t, &rest.Config{Host: server.URL, BearerToken: facadeToken, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}})
	return r
}

func proxyWith(t *testing.T, config *rest.Config, to *url.URL) *httputil.ReverseProxy {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

func (r *road) remember(t *testing.T, request *http.Request) passed {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		t.Error(err)
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	seen := passed{Request: request.Clone(request.Context()), body: body, own: request.Header.Get("Authorization") == "Bearer "+facadeToken}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed = append(r.passed, seen)
	return seen
}

// divert answers requests for a path instead of forwarding them.
func (r *road) divert(path string, answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.diverted[path] = answer
}

// since returns the requests since the last call.
func (r *road) since() []passed {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.passed
	r.passed = nil
	return all
}

// forwarded returns the requests for a path.
func forwarded(all []passed, path string) []passed {
	return slices.DeleteFunc(all, func(p passed) bool { return p.URL.Path != path })
}

// reviewed returns the specs of the SubjectAccessReviews of a user.
func reviewed(t *testing.T, all []passed, user string) []authorizationv1.SubjectAccessReviewSpec {
	t.Helper()
	var specs []authorizationv1.SubjectAccessReviewSpec
	for _, p := range all {
		if !strings.HasSuffix(p.URL.Path, "/subjectaccessreviews") {
			continue
		}
		var review authorizationv1.SubjectAccessReview
		if err := json.Unmarshal(p.body, &review); err != nil {
			t.Fatal(err)
		}
		if review.Spec.User == user {
			specs = append(specs, review.Spec)
		}
	}
	return specs
}
