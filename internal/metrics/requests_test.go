package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/listfacade/listfacade/internal/observe"
)

// warmGet returns a GET of one object that the cache answers.
func warmGet() *observe.Event {
	return &observe.Event{
		Method: "GET", Scope: "resource", Verb: "get", Version: "v1", Resource: "pods", Namespace: "ns", Name: "a", Discovered: true,
		Plan: "Any", Source: observe.FromCache, Code: 200, Bytes: 15 << 10, Looked: 1, Returned: 1, Took: 200 * time.Microsecond,
	}
}

// count makes the calls for a request that is not long-running.
func count(m *Metrics, e *observe.Event) {
	e.Admitted = true
	m.Admitted(e)
	m.Done(e)
}

// BenchmarkDone measures the cost of the metrics for a GET from the cache.
func BenchmarkDone(b *testing.B) {
	m := New(Sources{})
	m.ExposeSLI()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for e := warmGet(); pb.Next(); {
			count(m, e)
		}
	})
}

// BenchmarkSent measures the cost of the metrics for one event of a watch.
func BenchmarkSent(b *testing.B) {
	m := New(Sources{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for meter := m.Watch(warmGet()); pb.Next(); {
			meter.Add(1, 15<<10)
			meter.Sent()
		}
	})
}

// gathered returns the lines of metrics whose names have one of the prefixes.
func gathered(t *testing.T, from prometheus.Gatherer, prefixes ...string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(from, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// A request with known labels allocates no memory.
func TestDoneAllocatesNothing(t *testing.T) {
	m := New(Sources{})
	m.ExposeSLI()
	e := warmGet()
	meter := m.Watch(e)
	if n := testing.AllocsPerRun(100, func() { count(m, e) }); n != 0 {
		t.Errorf("a request: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { meter.Add(1, 100); meter.Sent() }); n != 0 {
		t.Errorf("an event: %v allocations", n)
	}
}

// Text from clients creates no series: the values of each label come from a closed set.
func TestClientsCannotAddLabels(t *testing.T) {
	m := New(Sources{})
	flood := func(from, to int) {
		for i := from; i < to; i++ {
			made := fmt.Sprint("made-up-", i)
			for _, e := range []*observe.Event{
				{Method: "GET", Verb: "list", Scope: "cluster", Group: made, Version: made, Resource: made, Source: observe.FromUpstream, Reason: observe.Undiscovered},
				{Method: made, Verb: made, Scope: "namespace", Resource: "pods", Subresource: made, Source: observe.FromFacade},
				{Method: "GET", Verb: made, URI: "/" + made, Source: observe.FromFacade, UserAgent: made, User: made, Name: made, Namespace: made},
				{Method: "GET", Verb: "watch", Scope: "resource", Resource: made, Subresource: made, Source: observe.FromUpstream, Reason: observe.NotARead, Plan: made},
				{Method: "GET", Verb: "get", Scope: "resource", Version: "v1", Resource: "pods", Discovered: true, Source: observe.FromUpstream, Reason: observe.NotARead, Code: 600 + i},
			} {
				count(m, e)
				m.Watch(e)
				m.Asked("passthrough", 600+i, 0)
			}
		}
	}
	flood(0, 1)
	before := gathered(t, m.registry, "apiserver_", "listfacade_")
	flood(1, 1000)
	if after := gathered(t, m.registry, "apiserver_", "listfacade_"); len(before) == 0 || len(after) != len(before) {
		t.Errorf("got %d series, want %d", len(after), len(before))
	}
}

// Verbs and scopes are those of kube-apiserver for the same requests, also if a field selector selects one object.
func TestVerbsAndScopes(t *testing.T) {
	for _, c := range []struct {
		e    observe.Event
		want string
	}{
		{observe.Event{Method: "GET", Verb: "get", Scope: "resource", Namespace: "a", Name: "b"}, "GET resource"},
		{observe.Event{Method: "HEAD", Verb: "get", Scope: "resource", Namespace: "a", Name: "b"}, "GET resource"},
		{observe.Event{Method: "GET", Verb: "list", Scope: "cluster"}, "LIST cluster"},
		{observe.Event{Method: "HEAD", Verb: "list", Scope: "namespace", Namespace: "a"}, "LIST namespace"},
		{observe.Event{Method: "GET", Verb: "list", Scope: "resource", Namespace: "a", Name: "b"}, "LIST namespace"},
		{observe.Event{Method: "GET", Verb: "watch", Scope: "resource", Name: "b"}, "WATCH cluster"},
		{observe.Event{Method: "GET", Verb: "get", Scope: "resource", Subresource: "log"}, "CONNECT resource"},
		{observe.Event{Method: "GET", Verb: "get", Scope: "resource", Subresource: "status"}, "GET resource"},
		{observe.Event{Method: "POST", Verb: "create", Scope: "resource", Subresource: "exec"}, "CONNECT resource"},
		{observe.Event{Method: "DELETE", Verb: "deletecollection", Scope: "cluster"}, "DELETE cluster"},
		{observe.Event{Method: "GET", Verb: "get"}, "GET "},
		{observe.Event{Method: "OPTIONS", Verb: ""}, "other "},
	} {
		scope := scopeLabel(&c.e)
		if got := verbLabel(&c.e, scope) + " " + scope; got != c.want {
			t.Errorf("%s %s of %q: %s, want %s", c.e.Method, c.e.Verb, c.e.Scope+"/"+c.e.Subresource, got, c.want)
		}
	}
}

// The peak is the maximum of this second and the previous second, and at least the current number.
func TestPeak(t *testing.T) {
	var p peak
	at := time.Unix(1<<32-1, 0) // the lower 32 bits overflow
	p.enter(at)
	p.enter(at)
	p.now.Add(-1)
	for after, want := range []int64{2, 2, 1, 1} {
		if got := p.most(at.Add(time.Duration(after) * time.Second)); got != want {
			t.Errorf("%d seconds after: %d, want %d", after, got, want)
		}
	}
	p.enter(at.Add(5 * time.Second))
	p.now.Add(-2)
	if got := p.most(at.Add(6 * time.Second)); got != 2 {
		t.Errorf("got %d in the next second, want 2", got)
	}
}

// An event counts in the smallest bucket that it fits into.
func TestSizeBucket(t *testing.T) {
	for bytes, want := range map[int]int{0: 0, 1: 0, 1024: 0, 1025: 1, 2048: 1, 2049: 2, 128 << 10: 7, 128<<10 + 1: 8, 1 << 30: 8} {
		if got := sizeBucket(bytes); got != want {
			t.Errorf("%d bytes: %d, want %d", bytes, got, want)
		}
	}
}

// Counters of a resource do not decrease when one of its lanes ends or restarts, and its lanes share one gauge.
func TestLanesCountTogether(t *testing.T) {
	var lanes []LaneStats
	c := newWatchCacheCollector(func() []LaneStats { return lanes })
	pods := func(encoding string, began int64, applied, rv uint64, bytes int64) LaneStats {
		return LaneStats{
			Version: "v1", Resource: "pods", Encoding: encoding, Began: time.Unix(began, 0), Synced: true, Applied: applied, ResourceVersion: rv,
			Objects: 3, ObjectBytes: bytes,
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	for _, step := range []struct {
		lanes    []LaneStats
		version  string
		bytes    int
		received int
	}{
		{[]LaneStats{pods("json", 1, 10, 7, 300), pods("protobuf", 1, 5, 6, 100)}, "6", 100, 15},
		{[]LaneStats{pods("protobuf", 1, 6, 8, 100), pods("json", 1, 10, 9, 300)}, "8", 100, 16},
		{[]LaneStats{pods("json", 1, 11, 10, 300)}, "10", 300, 17},
		{[]LaneStats{pods("json", 2, 4, 1_000_000_000_000_011, 300)}, "11", 300, 21}, // a new lane, whose counters begin at 0
	} {
		lanes = step.lanes
		got := gathered(t, registry, "apiserver_resource_size", "apiserver_watch_cache_events", "apiserver_watch_cache_resource")
		want := []string{
			fmt.Sprintf(`apiserver_resource_size_estimate_bytes{group="",resource="pods"} %d`, step.bytes),
			fmt.Sprintf(`apiserver_watch_cache_events_received_total{group="",resource="pods"} %d`, step.received),
			fmt.Sprintf(`apiserver_watch_cache_resource_version{group="",resource="pods"} %s`, step.version),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// The last result of each health check is exported, and results are counted.
func TestHealthChecks(t *testing.T) {
	m := New(Sources{})
	m.Checked("ping", "livez", nil)
	m.Checked("preload", "readyz", fmt.Errorf("not yet"))
	m.Checked("preload", "readyz", nil)
	want := []string{
		`kubernetes_healthcheck{name="ping",type="livez"} 1`,
		`kubernetes_healthcheck{name="preload",type="readyz"} 1`,
		`kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1`,
		`kubernetes_healthchecks_total{name="preload",status="error",type="readyz"} 1`,
		`kubernetes_healthchecks_total{name="preload",status="success",type="readyz"} 1`,
	}
	if diff := cmp.Diff(want, gathered(t, m.health.registry, "kubernetes_")); diff != "" {
		t.Error(diff)
	}
}
