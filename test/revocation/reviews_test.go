package revocation

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// reviews is a proxy of kube-apiserver that can make reviews fail. It forwards all other requests.
type reviews struct {
	kubeconfig string // for clients of the proxy, which forwards with the rights of a facade
	address    *closable
	broken     atomic.Pointer[http.HandlerFunc] // answers reviews; nil while they are forwarded
	broke      atomic.Int64                     // number of reviews that broken has answered
	watching   sync.Map                         // time of the last review of each watch, by the review's body
}

// confirmed returns the bodies of the reviews of watches that were sent after a time.
func (r *reviews) confirmed(since time.Time) map[string]bool {
	found := map[string]bool{}
	r.watching.Range(func(asked, when any) bool {
		if when.(time.Time).After(since) {
			found[asked.(string)] = true
		}
		return true
	})
	return found
}

// note records a forwarded review if it is of a watch.
func (r *reviews) note(request *http.Request) {
	if request.Method != http.MethodPost {
		return
	}
	asked, err := io.ReadAll(request.Body)
	if err == nil && bytes.Contains(asked, []byte(`"verb":"watch"`)) {
		r.watching.Store(string(asked), time.Now())
	}
	request.Body = io.NopCloser(bytes.NewReader(asked))
}

func newReviews(t *testing.T, upstream *testkit.Cluster) *reviews {
	t.Helper()
	r := &reviews{}
	pass := suite.Forward(t, facadeConfig(t, upstream))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		broken := r.broken.Load()
		if broken == nil || request.Method != http.MethodPost {
			r.note(request)
			pass.ServeHTTP(w, request)
			return
		}
		r.broke.Add(1)
		(*broken)(w, request)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.address = newClosable(t, server.Listener.Addr().String())
	r.kubeconfig = testkit.WriteInsecureKubeconfig(t, "https://"+r.address.text)
	return r
}

func (r *reviews) breaks(answer http.HandlerFunc) { r.broken.Store(&answer) }

// fault is a way in which reviews fail. If late is set, reviews are answered correctly, but slowly.
type fault struct {
	name  string
	begin func(*testing.T, *reviews)
	end   func(*testing.T, *reviews)
	late  bool
}

func (f fault) ends(t *testing.T, r *reviews) {
	t.Helper()
	if f.end != nil {
		f.end(t, r)
	}
	r.broken.Store(nil)
}

// lateBy is less than the timeout of a review.
const lateBy = 3 * time.Second

var faults = []fault{
	{
		name:  "refused",
		begin: func(_ *testing.T, r *reviews) { r.address.shut() },
		end:   func(t *testing.T, r *reviews) { t.Helper(); r.address.open(t) },
	},
	answering("500", http.StatusInternalServerError, statusBody("InternalError", 500), nil),
	answering("503", http.StatusServiceUnavailable, "no healthy upstream", nil),
	answering("429", http.StatusTooManyRequests, statusBody("TooManyRequests", 429), http.Header{"Retry-After": {"1"}}),
	answering("401", http.StatusUnauthorized, statusBody("Unauthorized", 401), nil),
	answering("403", http.StatusForbidden, statusBody("Forbidden", 403), nil),
	answering("no JSON", http.StatusCreated, "<html>", nil),
	answering("another kind", http.StatusOK, statusBody("", 200), nil),
	answering("nothing", http.StatusCreated, "", nil),
	{name: "half an answer", begin: func(_ *testing.T, r *reviews) { r.breaks(half) }},
	{name: "hanging", begin: func(_ *testing.T, r *reviews) { r.breaks(hang) }},
	{name: "slow", late: true, begin: func(t *testing.T, r *reviews) {
		t.Helper()
		pass := suite.Forward(t, facadeConfig(t, suite.Cluster(t)))
		r.breaks(func(w http.ResponseWriter, request *http.Request) {
			select {
			case <-time.After(lateBy): //pace: reviews are slow
				pass.ServeHTTP(w, request)
			case <-request.Context().Done():
			}
		})
	}},
}

func answering(name string, code int, body string, header http.Header) fault {
	return fault{name: name, begin: func(_ *testing.T, r *reviews) {
		r.breaks(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for name, values := range header {
				w.Header()[name] = values
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		})
	}}
}

func statusBody(reason string, code int) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"at https://10.0.0.1:6443","reason":%q,"code":%d}`, reason, code)
}

// half sends the first half of an answer that allows the request.
func half(w http.ResponseWriter, _ *http.Request) {
	const body = `{"kind":"SubjectAccessReview","status":{"allowed":true`
	w.Header().Set("Content-Length", fmt.Sprint(2*len(body)))
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, body)
}

func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	panic(http.ErrAbortHandler) // a return would send a 200
}

// isGeneric returns an error unless the answer is a plain 503 that says nothing about the upstream.
func isGeneric(a *testkit.Answer) error {
	body := string(a.Body)
	switch {
	case a.Code != http.StatusServiceUnavailable:
		return fmt.Errorf("%d %s", a.Code, body)
	case a.Header.Get("Retry-After") != "1":
		return fmt.Errorf("Retry-After: %q", a.Header.Get("Retry-After"))
	case !strings.Contains(body, `"reason":"ServiceUnavailable"`) || !strings.Contains(body, `"kind":"Status"`):
		return fmt.Errorf("no Status: %s", body)
	case strings.Contains(body, "127.0.0.1") || strings.Contains(body, "https:") || strings.Contains(body, "review"):
		return fmt.Errorf("the answer names the upstream: %s", body)
	default:
		return nil
	}
}
