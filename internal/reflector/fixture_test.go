package reflector

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	configMaps = testkit.FakeKind{GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	events     = testkit.FakeKind{GVR: schema.GroupVersionResource{Version: "v1", Resource: "events"}, Kind: "Event", Namespaced: true}
	nodes      = testkit.FakeKind{GVR: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Kind: "Node"}
	widgets    = testkit.FakeKind{
		GVR: schema.GroupVersionResource{Group: "ex.io", Version: "v1", Resource: "widgets"}, Kind: "Widget", Namespaced: true, Custom: true,
	}
)

// Durations of internal/fresh; docs/adr/0008-cheapest-freshness-check.md explains them.
const (
	grace              = 20 * time.Millisecond // for events in transit
	rollCallObjects    = 5000
	rollCallPause      = 30 * time.Second // after a failed roll call
	progressWatchEvery = time.Second
	progressWatchesFor = 10 * time.Second // after the last wanted one
)

// rig is the package with a scripted upstream, in a bubble of virtual time.
type rig struct {
	*testkit.FakeUpstream
	client                              *upstream.Client
	lanes                               *Lanes
	logs                                *observer.ObservedLogs
	relisted, reconnected, contradicted atomic.Int64
	outcome                             atomic.Pointer[string] // outcome of the last lost window
	failed                              atomic.Int64           // failed attempts to write the journal
	holes                               journalHoles
	audits                              audits
	forward                             struct {
		sync.Mutex
		outcomes []string // of watches from before a lane's history
	}
	stop func() // stops the lanes; also called at the end of the test
}

// journalHoles are the reasons of holes in the journal.
type journalHoles struct {
	sync.Mutex
	reasons []string
}

// audits are the results of the self-audit.
type audits struct {
	sync.Mutex
	pages, kinds     []string
	objects          int
	passes, relisted atomic.Int64
}

// Answers that the upstream gives itself if no check succeeds.
var (
	oneObject   = fresh.Answer{Objects: 1}
	smallAnswer = fresh.Answer{Objects: 500}
)

// Contradicted implements Metrics.
func (r *rig) Contradicted(string, string) { r.contradicted.Add(1) }

// Relisted implements Metrics.
func (r *rig) Relisted(string, string) { r.relisted.Add(1) }

// Reconnected implements Metrics.
func (r *rig) Reconnected(string, string) { r.reconnected.Add(1) }

// JournalHole implements Metrics.
func (r *rig) JournalHole(reason string) {
	r.holes.Lock()
	defer r.holes.Unlock()
	r.holes.reasons = append(r.holes.reasons, reason)
}

// JournalFailed implements Metrics.
func (r *rig) JournalFailed() { r.failed.Add(1) }

// Filled implements Metrics.
func (r *rig) Filled(string) {}

// LostWindow implements Metrics.
func (r *rig) LostWindow(_, _, outcome string) { r.outcome.Store(&outcome) }

// BroughtForward implements Metrics.
func (r *rig) BroughtForward(_, _, outcome string) {
	r.forward.Lock()
	defer r.forward.Unlock()
	r.forward.outcomes = append(r.forward.outcomes, outcome)
}

// SelfAudited implements Metrics.
func (r *rig) SelfAudited(_ schema.GroupVersionResource, _, result string, objects int) {
	r.audits.Lock()
	defer r.audits.Unlock()
	r.audits.pages = append(r.audits.pages, result)
	r.audits.objects += objects
}

// SelfAuditPassed implements Metrics.
func (r *rig) SelfAuditPassed(schema.GroupVersionResource, string) { r.audits.passes.Add(1) }

// SelfAuditDiffered implements Metrics.
func (r *rig) SelfAuditDiffered(_ schema.GroupVersionResource, _, kind string) {
	r.audits.Lock()
	defer r.audits.Unlock()
	r.audits.kinds = append(r.audits.kinds, kind)
}

// SelfAuditRelisted implements Metrics.
func (r *rig) SelfAuditRelisted(schema.GroupVersionResource, string) { r.audits.relisted.Add(1) }

// Questioned implements Metrics.
func (r *rig) Questioned(string) {}

// noRollCalls makes the fake refuse requests for metadata, so that other checks are tried.
func (r *rig) noRollCalls() {
	r.Script(testkit.AskRoll, testkit.Refuse(http.StatusNotAcceptable, "NotAcceptable"))
}

// inBubble runs a test with a rig.
func inBubble(t *testing.T, kind testkit.FakeKind, test func(*testing.T, *rig)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) { test(t, newRig(t, kind, Config{})) })
}

func newRig(t *testing.T, kind testkit.FakeKind, config Config) *rig {
	t.Helper()
	r := &rig{FakeUpstream: testkit.NewFakeUpstream(t, kind)}
	var err error
	if r.client, err = upstream.NewClient(r.Config(), upstream.Hop{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.client.CloseIdle)
	r.start(t, config)
	return r
}

// start starts with no lanes, as another process would, after stop.
func (r *rig) start(t *testing.T, config Config) {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	r.logs = logs
	r.lanes = NewLanes(r.client, config, r, zap.New(core))
	r.run(t)
}

// run runs the lanes until stop is called.
func (r *rig) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r.lanes.Run(ctx, func() { close(ready) })
	}()
	<-ready
	r.stop = func() { cancel(); <-ended }
	t.Cleanup(r.stop)
}

func (r *rig) resource() upstream.Resource {
	return upstream.Resource{GVR: r.GVR, GVK: r.GVR.GroupVersion().WithKind(r.Kind), Namespaced: r.Namespaced, Custom: r.Custom, Cacheable: true}
}

// lane returns the rig's lane, and starts it if there is none.
func (r *rig) lane(t *testing.T) *Reflector {
	t.Helper()
	lane, err := r.lanes.Get(r.resource(), jsonwire.Encoding{})
	if err != nil {
		t.Fatal(err)
	}
	return lane
}

// synced returns the lane after it is filled.
func (r *rig) synced(t *testing.T) *Reflector {
	t.Helper()
	lane := r.lane(t)
	lane.AwaitSync(t.Context(), time.Hour)
	if _, err := lane.Cache.State(); err != nil {
		t.Fatalf("the lane is not filled: %v, failure %+v", err, lane.Failure())
	}
	synctest.Wait()
	return lane
}

// logged reports whether an error with this text was logged.
func (r *rig) logged(words string) bool {
	return slices.ContainsFunc(r.logs.All(), func(e observer.LoggedEntry) bool {
		return strings.Contains(fmt.Sprint(e.ContextMap()["error"]), words)
	})
}

// contents returns the objects of a lane as "key@rv", sorted by key.
func contents(t *testing.T, lane *Reflector) []string {
	t.Helper()
	state := stateOf(t, lane)
	all := []string{}
	for object := range state.Objects(cache.Span{}) {
		all = append(all, object.Key()+"@"+object.RV.String())
	}
	return all
}

func stateOf(t *testing.T, lane *Reflector) *cache.State {
	t.Helper()
	state, err := lane.Cache.State()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// elapse waits in virtual time.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// until waits in virtual time, step by step, until a condition is true. It fails after a day.
func until(t *testing.T, step time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(24 * time.Hour); !holds(); elapse(step) {
		if time.Now().After(end) {
			t.Fatalf("timeout after a day, want %s", what)
		}
	}
}

// text returns a handler that responds with 200 and a body.
func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}
