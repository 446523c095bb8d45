package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/upstream"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(watchClient); what != "" {
		watchAll(what)
		return
	}
	if what := os.Getenv(getClient); what != "" {
		getAll(what)
		return
	}
	testkit.VerifyTestMain(m)
}

// facade is the complete handler in front of a scripted upstream, in a bubble of virtual time.
type facade struct {
	*testkit.FakeUpstream
	lanes   *reflector.Lanes
	asker   *upstream.Client // client of the fake upstream
	handler http.Handler
	client  *http.Client
	http2   *http.Client
	drain   func()
	broken  chan struct{}              // closed to make the lists of fillsIn fail
	allow   func(auth.Attributes) bool // decides for the upstream's authorizer
	deny    Authorizer                 // used instead of it, if not nil
	events  eventRecorder
}

// eventRecorder keeps the Event of each request.
type eventRecorder struct {
	observe.Ignore
	mu  sync.Mutex
	all []observe.Event
}

// Done implements observe.Observer.
func (r *eventRecorder) Done(e *observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := *e
	kept.Progress = nil // it refers to the complete response
	r.all = append(r.all, kept)
}

// last is the Event of the request that ended last. A client may have received the response shortly before.
func (r *eventRecorder) last() observe.Event {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[len(r.all)-1]
}

// inBubble runs a test with a facade of config maps, in virtual time.
func inBubble(t *testing.T, test func(*testing.T, *facade), configure ...func(*Config)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) { test(t, newFacade(t, configure...)) })
}

func newFacade(t *testing.T, configure ...func(*Config)) *facade {
	t.Helper()
	kind := testkit.FakeKind{GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	return newFacadeOf(t, kind, configure...)
}

func newFacadeOf(t *testing.T, kind testkit.FakeKind, configure ...func(*Config)) *facade {
	t.Helper()
	f := &facade{FakeUpstream: testkit.NewFakeUpstream(t, kind), allow: func(auth.Attributes) bool { return true }, broken: make(chan struct{})}
	client, err := upstream.NewClient(f.Config(), upstream.Hop{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdle)
	f.asker = client
	counted := metrics.New(metrics.Sources{})
	var wanted Config
	for _, set := range configure {
		set(&wanted)
	}
	f.lanes = reflector.NewLanes(client, reflector.Config{Memory: wanted.Memory}, counted, zap.NewNop())
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); f.lanes.Run(ctx, func() { close(ready) }) }()
	<-ready
	t.Cleanup(func() { stop(); <-ended })
	draining, drain := context.WithCancel(t.Context())
	f.drain = drain
	t.Cleanup(drain)
	config := Config{
		Catalog: upstream.NewCatalog(client), Lanes: LanesOf(f.lanes.Get), Encodings: allEncodings, Offers: reflector.Offers, Documents: upstream.NewDocuments(client), Fields: upstream.NewFields(client), Shards: upstream.NewShards(client), Upstream: upstream.NewPassThrough(client),
		Authenticator: authenticated{}, Authorizer: scriptedAuthorizer{facade: f}, Observer: observe.Observers{counted, &f.events}, Metrics: counted.Handler(), SLIs: counted.SLIs(), Counters: counted, Log: zap.NewNop(), RequestTimeout: time.Minute, MinWatch: 30 * time.Minute,
		BookmarkInterval: time.Minute, WriteTimeout: 30 * time.Second, Draining: draining,
	}
	for _, set := range configure {
		set(&config)
	}
	f.handler = New(config)
	f.client, f.http2 = testkit.ServeInMemory(t, f.handler), testkit.ServeInMemoryHTTP2(t, f.handler)
	return f
}

// authenticated accepts every caller, with permissions that last.
type authenticated struct{}

// Authenticate implements Authenticator.
func (authenticated) Authenticate(*http.Request) (*auth.Caller, error) { return auth.Kubeconfig(), nil }

// AuthorizeWatch implements Authorizer.
func (authenticated) AuthorizeWatch(auth.Attributes) *auth.WatchAuthorization {
	return &auth.WatchAuthorization{}
}

// scriptedAuthorizer returns real decisions for what the test allows.
type scriptedAuthorizer struct {
	*facade
	authenticated
}

// Authorize implements Authorizer.
func (s scriptedAuthorizer) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, error) {
	if s.deny != nil {
		return s.deny.Authorize(ctx, a)
	}
	answer := []byte(fmt.Sprintf(`{"kind":"SubjectAccessReview","status":{"allowed":%t}}`, s.allow(a)))
	return auth.NewSelf(reviewer(func() (int, []byte, error) { return http.StatusCreated, answer, nil }), 0).Authorize(ctx, a)
}

// reviewer is an upstream that gives every access review this answer.
type reviewer func() (int, []byte, error)

// Post implements auth.Upstream.
func (r reviewer) Post(context.Context, string, []byte) (int, []byte, error) { return r() }

// Silent implements auth.Upstream.
func (r reviewer) Silent() time.Duration { return 0 }

// get sends a GET and reads the complete response.
func (f *facade) get(t *testing.T, target string) (*http.Response, string) {
	t.Helper()
	response, body, err := f.try(t, http.MethodGet, target)
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return response, body
}

func (f *facade) try(t *testing.T, method, target string) (*http.Response, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://facade.test"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// manyObjects are more objects than a list may have that is forwarded instead of waiting for a freshness check.
const manyObjects = 500

// usual is content that gives an object the usual size.
var usual = strings.Repeat("x", 2<<10)
