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

// fake is a server of a few resources, as far as the command asks it.
type fake struct {
	mu      sync.Mutex
	objects []string // as in "ns/name@1=value", in their order
	version string
	flows   func(page int) bool // whether the answer names a flow; nil: none does
	before  http.HandlerFunc    // may answer lists in its place; nil: nothing does
	asked   []string            // queries of lists

	protobuf bool // it answers whoever asks for protobuf, as it does in JSON
}

const someFlow = "5f6c0d0e-0000-4000-8000-000000000000"

// serve makes it a server, and its configuration.
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

// list answers with a page, whose token says how many objects come before the next.
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

// some are objects that both have.
func some() []string { return []string{"a/one@1=x", "a/two@2=y", "b/one@3=z"} }

// pair is a facade and the kube-apiserver that it reads from, which names flows.
func pair() (ours, theirs *fake) {
	return &fake{objects: some(), version: "7"}, &fake{objects: some(), version: "7", flows: func(int) bool { return true }}
}

// compared compares two, and returns what was printed and the code of the process.
func compared(t *testing.T, ours, theirs *fake, o Options) (text string, code int) {
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
	err := Run(t.Context(), ours.serve(t), theirs.serve(t), o, &out)
	if err != nil {
		var failed *Error
		if !errors.As(err, &failed) {
			t.Fatalf("%T: %v", err, err)
		}
		return out.String() + err.Error(), failed.ExitCode()
	}
	return out.String(), 0
}

// patient is a server whose pauses are noted, and not waited for; each answer takes it a second of its own clock.
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

// busy answers so many times with 429.
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

// total adds them.
func total(pauses []time.Duration) (sum time.Duration) {
	for _, d := range pauses {
		sum += d
	}
	return sum
}
