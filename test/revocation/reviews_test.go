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

// reviews is a way to kube-apiserver on which reviews can be broken. All else passes.
type reviews struct {
	kubeconfig string // of whoever takes it, with the rights of a facade
	door       *door
	broken     atomic.Pointer[http.HandlerFunc] // answers reviews; nil while they pass
	broke      atomic.Int64                     // how many it has answered
	watching   sync.Map                         // when each right to watch was last reviewed, by what was asked
}

// confirmed tells which rights to watch were reviewed after a time.
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

// note remembers a review that passes, if it is of a right to watch.
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
	r.door = newDoor(t, server.Listener.Addr().String())
	r.kubeconfig = testkit.WriteInsecureKubeconfig(t, "https://"+r.door.address)
	return r
}

func (r *reviews) breaks(answer http.HandlerFunc) { r.broken.Store(&answer) }

// fault is what happens to reviews. Where late is set they are answered, but it takes long.
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

// lateBy is less than a review may take.
const lateBy = 3 * time.Second

var faults = []fault{
	{
		name:  "refused",
		begin: func(_ *testing.T, r *reviews) { r.door.shut() },
		end:   func(t *testing.T, r *reviews) { t.Helper(); r.door.open(t) },
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

// half breaks off what would be a permission.
func half(w http.ResponseWriter, _ *http.Request) {
	const body = `{"kind":"SubjectAccessReview","status":{"allowed":true`
	w.Header().Set("Content-Length", fmt.Sprint(2*len(body)))
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, body)
}

func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	panic(http.ErrAbortHandler) // to return would answer with a 200
}

// isGeneric tells what is wrong with an answer that is to say that nobody could be asked, and no more.
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
		return fmt.Errorf("tells of the upstream: %s", body)
	default:
		return nil
	}
}
