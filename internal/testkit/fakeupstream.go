package testkit

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// FakeKind describes the only resource of a FakeUpstream.
type FakeKind struct {
	GVR        schema.GroupVersionResource
	Kind       string
	Namespaced bool
	Custom     bool // whether the fake writes objects as kube-apiserver writes custom resources
}

// Ask is a type of request to an upstream. For a request that is not for the fake's collection, it is the path.
type Ask string

// Requests for the collection.
const (
	AskProbe         Ask = "probe"     // the current resourceVersion, by a list of a name that no object has
	AskStreaming     Ask = "streaming" // a watch with initial events
	AskWatch         Ask = "watch"
	AskMarks         Ask = "marks"          // a streaming list of the facade's reserved name, which no object has
	AskProgressWatch Ask = "progress-watch" // a watch of three seconds
	AskList          Ask = "list"
	AskRoll          Ask = "roll-call" // names and versions of all objects
)

// FakeUpstream is a kube-apiserver that does what tests cannot make a real one do: answer as an old release, end
// responses early, send wrong data. It answers correctly from the objects that the test puts, unless the test scripts a
// kind of request. It serves HTTP/1.1 over a network in memory, so tests can run in a synctest bubble.
type FakeUpstream struct {
	FakeKind
	network *memoryNet

	ways Ways

	mu      sync.Mutex // guards the fields below
	scripts map[Ask]http.HandlerFunc
	asked   map[Ask][]*http.Request
	store   fakeStore
	thawed  chan struct{} // closed when the fake is unfrozen; nil if it is not frozen
}

// NewFakeUpstream starts a fake upstream, which serves until the test ends.
func NewFakeUpstream(t testing.TB, kind FakeKind) *FakeUpstream {
	f := &FakeUpstream{
		FakeKind: kind, network: newMemoryNet(), scripts: map[Ask]http.HandlerFunc{}, asked: map[Ask][]*http.Request{},
		store: newFakeStore(),
	}
	f.network.serve(t, f)
	return f
}

// Config returns a client configuration for the fake.
func (f *FakeUpstream) Config() *rest.Config {
	return &rest.Config{Host: "http://" + f.network.Addr().String(), QPS: -1, Dial: f.network.dial}
}

// SetOffline makes the fake unreachable, or reachable again.
func (f *FakeUpstream) SetOffline(offline bool) { f.network.setOffline(offline) }

// SetFrozen makes the fake accept requests without an answer, like a stopped process, or answer all requests again.
func (f *FakeUpstream) SetFrozen(frozen bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.thawed != nil {
		close(f.thawed)
		f.thawed = nil
	}
	if frozen {
		f.thawed = make(chan struct{})
	}
}

// Script sets the handler of a kind of request. With nil the fake answers from its objects again.
func (f *FakeUpstream) Script(q Ask, answer http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scripts[q] = answer
}

// Scripted reports whether a kind of request has a script.
func (f *FakeUpstream) Scripted(q Ask) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.scripts[q] != nil
}

// Requests returns the requests of a kind, in order.
func (f *FakeUpstream) Requests(q Ask) []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*http.Request(nil), f.asked[q]...)
}

// Asked returns the number of requests of a kind.
func (f *FakeUpstream) Asked(q Ask) int { return len(f.Requests(q)) }

// ServeHTTP implements http.Handler.
func (f *FakeUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := f.question(r)
	f.mu.Lock()
	f.asked[q] = append(f.asked[q], r.Clone(r.Context()))
	script, thawed := f.scripts[q], f.thawed
	f.mu.Unlock()
	if thawed != nil {
		select {
		case <-thawed:
		case <-r.Context().Done():
			return
		}
	}
	if script != nil {
		script(w, r)
		return
	}
	f.Truth(w, r)
}

// Truth answers a request from the objects of the fake, without scripts.
func (f *FakeUpstream) Truth(w http.ResponseWriter, r *http.Request) {
	switch q := f.question(r); q {
	case AskProbe:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, f.listText(nil, f.RV(), "", false))
	case AskList, AskRoll:
		f.list(w, r)
	case AskStreaming, AskMarks, AskWatch, AskProgressWatch:
		f.watch(w, r, q)
	default:
		if key, ok := f.objectKey(string(q)); ok {
			f.object(w, r, key)
			return
		}
		f.document(w, string(q))
	}
}

func (f *FakeUpstream) question(r *http.Request) Ask {
	query := r.URL.Query()
	switch {
	case !strings.HasPrefix(r.URL.Path, f.root()) || !strings.HasSuffix(r.URL.Path, "/"+f.GVR.Resource):
		return Ask(r.URL.Path)
	case query.Get("watch") == "" && strings.HasPrefix(query.Get("fieldSelector"), "metadata.name="):
		return AskProbe
	case query.Get("watch") == "" && strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList"):
		return AskRoll
	case query.Get("watch") == "":
		return AskList
	case query.Get("sendInitialEvents") != "" && query.Get("fieldSelector") == "metadata.name=listfacade.probe":
		return AskMarks
	case query.Get("sendInitialEvents") != "":
		return AskStreaming
	case query.Get("timeoutSeconds") == "3":
		return AskProgressWatch
	default:
		return AskWatch
	}
}

func (f *FakeUpstream) root() string {
	if f.GVR.Group == "" {
		return "/api/" + f.GVR.Version
	}
	return "/apis/" + f.GVR.Group + "/" + f.GVR.Version
}

// document answers requests for unaggregated discovery.
func (f *FakeUpstream) document(w http.ResponseWriter, path string) {
	gv := f.GVR.GroupVersion().String()
	group := fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":%q,"version":%q}]}`, f.GVR.Group, gv, f.GVR.Version)
	automanaged := "onstart"
	if f.Custom {
		automanaged = "true"
	}
	documents := map[string]string{
		"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		f.root(): fmt.Sprintf(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[`+
			`{"name":%q,"singularName":"","namespaced":%t,"kind":%q,"verbs":["get","list","watch"]}]}`, gv, f.GVR.Resource,
			f.Namespaced, f.Kind),
		"/apis/apiregistration.k8s.io/v1/apiservices": fmt.Sprintf(`{"kind":"APIServiceList","apiVersion":"apiregistration.k8s.io/v1",`+
			`"metadata":{},"items":[{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":%q}},"spec":{"group":%q,"version":%q}}]}`,
			automanaged, f.GVR.Group, f.GVR.Version),
	}
	if f.GVR.Group != "" {
		documents["/api"] = `{"kind":"APIVersions","versions":[]}`
		documents["/apis"] = `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + group + `]}`
	}
	text, ok := documents[path]
	if !ok {
		Refuse(http.StatusNotFound, "NotFound")(w, nil)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// Refuse returns a handler that answers with a Status.
func Refuse(code int, reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, StatusText(code, reason)+"\n")
	}
}

// StatusText returns a Status as kube-apiserver writes it.
func StatusText(code int, reason string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"scripted","reason":%q,"code":%d}`, reason, code)
}
