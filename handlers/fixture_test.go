package handlers

import (
	"context"
	"errors"
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
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/testkit"
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

// facade is the whole handler in front of a scripted upstream, in a bubble of virtual time.
type facade struct {
	*testkit.FakeUpstream
	lanes   *reflector.Lanes
	asker   *upstream.Client // of the fake upstream
	handler http.Handler
	client  *http.Client
	http2   *http.Client
	drain   func()
	broken  chan struct{}              // closed when the listings of fillsIn break off
	allow   func(auth.Attributes) bool // what the upstream's authorizer says
	deny    Authorizer                 // asked instead, once it is there
	events  eventRecorder
}

// eventRecorder keeps the Event of each request.
type eventRecorder struct {
	mu  sync.Mutex
	all []observe.Event
}

// Done implements observe.Sink.
func (r *eventRecorder) Done(e *observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := *e
	kept.Progress = nil // which holds all of the answer
	r.all = append(r.all, kept)
}

// last is the Event of the request that ended last. A client may have its answer a moment before.
func (r *eventRecorder) last() observe.Event {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[len(r.all)-1]
}

// inBubble runs a test with a facade of config maps.
func inBubble(t *testing.T, test func(*testing.T, *facade), configure ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newFacade(t, configure...)) })
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
	metrics := observe.NewMetrics(observe.Sources{})
	var wanted Config
	for _, set := range configure {
		set(&wanted)
	}
	f.lanes = reflector.NewLanes(client, reflector.Config{Memory: wanted.Memory}, metrics, zap.NewNop())
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); f.lanes.Run(ctx, func() { close(ready) }) }()
	<-ready
	t.Cleanup(func() { stop(); <-ended })
	draining, drain := context.WithCancel(t.Context())
	f.drain = drain
	t.Cleanup(drain)
	config := Config{
		Catalog: upstream.NewCatalog(client), Lanes: f.lanes, Documents: upstream.NewDocuments(client), Fields: upstream.NewFields(client), Upstream: upstream.NewPassThrough(client),
		Authenticator: everybody{}, Authorizer: scriptedAuthorizer{facade: f}, Sink: observe.Sinks{metrics, &f.events}, Metrics: metrics.Handler(), SLIs: metrics.SLIs(), Live: metrics, Log: zap.NewNop(), RequestTimeout: time.Minute, MinWatch: 30 * time.Minute,
		BookmarkInterval: time.Minute, WriteTimeout: 30 * time.Second, Draining: draining,
	}
	for _, set := range configure {
		set(&config)
	}
	f.handler = New(config)
	f.client, f.http2 = testkit.ServeInMemory(t, f.handler), testkit.ServeInMemoryHTTP2(t, f.handler)
	return f
}

// everybody is whoever asks, with rights that last.
type everybody struct{}

// Authenticate implements Authenticator.
func (everybody) Authenticate(*http.Request) (*auth.Caller, error) { return auth.Kubeconfig(), nil }

// Hold implements Authorizer.
func (everybody) Hold(auth.Attributes) *auth.WatchAuthorization { return &auth.WatchAuthorization{} }

// scriptedAuthorizer gives real grants for what the test allows.
type scriptedAuthorizer struct {
	*facade
	everybody
}

// Authorize implements Authorizer.
func (s scriptedAuthorizer) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, error) {
	if s.deny != nil {
		return s.deny.Authorize(ctx, a)
	}
	answer := []byte(fmt.Sprintf(`{"kind":"SubjectAccessReview","status":{"allowed":%t}}`, s.allow(a)))
	return auth.NewSelf(reviewer(func() (int, []byte, error) { return http.StatusCreated, answer, nil }), 0).Authorize(ctx, a)
}

// reviewer is an upstream that answers every access review in this way.
type reviewer func() (int, []byte, error)

// Post implements auth.Upstream.
func (r reviewer) Post(context.Context, string, []byte) (int, []byte, error) { return r() }

// Unheard implements auth.Upstream.
func (r reviewer) Silent() time.Duration { return 0 }

// get sends a GET and reads the whole answer.
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

// isForward tells whether err lets the upstream answer.
func isForward(err error) bool {
	var forward *forwardError
	return errors.As(err, &forward)
}

// manyObjects are as many as the upstream is asked for rather than that somebody waits for a proof.
const manyObjects = 500

// usual is what makes an object of the usual size.
var usual = strings.Repeat("x", 2<<10)
