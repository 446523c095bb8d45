package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

func TestMain(m *testing.M) { testkit.VerifyTestMain(m) }

// fake is a server of a few resources, limited to the requests of the command.
type fake struct {
	mu      sync.Mutex
	objects []string // such as "ns/name@1=value", sorted
	version string
	flows   func(page int) bool // whether the response to a page has flowHeader; nil: none has
	before  http.HandlerFunc    // may respond to a list instead; nil: it never does
	asked   []string            // queries of the lists requested

	protobuf bool // responds to protobuf requests, with JSON
}

const someFlow = "5f6c0d0e-0000-4000-8000-000000000000"

// serve starts the server and returns its client configuration.
func (f *fake) serve(t *testing.T) *rest.Config {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/api":
		_, _ = fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/apis":
		_, _ = fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	case "/api/v1":
		const verbs = `"namespaced":true,"verbs":["get","list","watch"]`
		_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod",%s},{"name":"pods/log","kind":"Pod",%s},`+
			`{"name":"secrets","kind":"Secret",%s},{"name":"bindings","kind":"Binding","namespaced":true,"verbs":["create"]}]}`, verbs, verbs, verbs)
	default:
		f.list(w, r)
	}
}

// list returns a page. Its continue token is the number of objects before the next page.
func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	f.asked = append(f.asked, r.URL.RawQuery)
	if f.before != nil {
		answer := httptest.NewRecorder()
		if f.before(answer, r); answer.Code != http.StatusOK {
			for name, values := range answer.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
			return
		}
	}
	query := r.URL.Query()
	if strings.Contains(r.Header.Get("Accept"), "protobuf") && !f.protobuf {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	from, _ := strconv.Atoi(query.Get("continue"))
	objects, next := f.objects[from:], ""
	if query.Get("fieldSelector") != "" {
		objects = nil
	} else if len(objects) > limit {
		objects, next = objects[:limit], strconv.Itoa(from+limit)
	}
	if f.flows != nil && f.flows(from/max(limit, 1)) {
		w.Header().Set(flowHeader, someFlow)
	}
	var items []string
	for _, text := range objects {
		name, value, _ := strings.Cut(text, "=")
		name, version, _ := strings.Cut(name, "@")
		namespace, name, _ := strings.Cut(name, "/")
		items = append(items, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"resourceVersion":%q},"value":%q}`, namespace, name, version, value))
	}
	_, _ = fmt.Fprintf(w, `{"kind":"List","metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`, f.version, next, strings.Join(items, ","))
}

// some returns the objects of both servers.
func some() []string { return []string{"a/one@1=x", "a/two@2=y", "b/one@3=z"} }

// pair returns a facade and its kube-apiserver, which sends flowHeader.
func pair() (fakeFacade, fakeUpstream *fake) {
	return &fake{objects: some(), version: "7"}, &fake{objects: some(), version: "7", flows: func(int) bool { return true }}
}

// compared compares both servers, and returns the output and the exit code.
func compared(t *testing.T, fakeFacade, fakeUpstream *fake, o Options) (text string, code int) {
	t.Helper()
	if o.Encodings == nil {
		o.Encodings = []string{"json"}
	}
	if o.Resources == nil {
		o.Resources = []string{"pods"}
	}
	if o.Limit == 0 {
		o.Limit, o.Shown = 2, 10
	}
	var out strings.Builder
	err := Run(t.Context(), fakeFacade.serve(t), fakeUpstream.serve(t), o, &out)
	if err != nil {
		var failed *Error
		if !errors.As(err, &failed) {
			t.Fatalf("%T: %v", err, err)
		}
		return out.String() + err.Error(), failed.ExitCode()
	}
	return out.String(), 0
}

// patient returns a server that records pauses without waiting. By its clock each request takes a second.
func patient(t *testing.T, f *fake) (s *server, pauses *[]time.Duration) {
	t.Helper()
	s, err := newServer("the facade", f.serve(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.CloseIdleConnections)
	pauses = new([]time.Duration)
	clock := time.Now()
	s.now = func() time.Time {
		clock = clock.Add(time.Second)
		return clock
	}
	s.sleep = func(ctx context.Context, d time.Duration) error {
		clock = clock.Add(d)
		*pauses = append(*pauses, d)
		return ctx.Err()
	}
	return s, pauses
}

// busy responds to the given number of requests with 429.
func busy(times int, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if times--; times >= 0 {
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = fmt.Fprint(w, `{"kind":"Status","message":"too many requests"}`)
		}
	}
}

// total returns the sum of pauses.
func total(pauses []time.Duration) (sum time.Duration) {
	for _, d := range pauses {
		sum += d
	}
	return sum
}
