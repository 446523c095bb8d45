package observe

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// filled is every metric with at least one series.
func filled() *Metrics {
	m := NewMetrics(Sources{
		Lanes: func() []LaneStats {
			return []LaneStats{{Group: "apps", Version: "v1", Resource: "deployments", Encoding: "json", Synced: true, Applied: 7}}
		},
		Forms: func() FormsStats { return FormsStats{Bytes: 1} },
		Memory: func() MemoryStats {
			return MemoryStats{
				Accounted: map[string]int64{"lanes": 1}, Relieved: map[string]int64{"forms": 1}, RelievedOf: map[string]int64{"forms": 1},
				Refused: map[string]int64{"answers": 1},
			}
		},
	})
	m.Done(&Event{Method: "GET", Scope: "cluster", Verb: "list", Group: "apps", Version: "v1", Resource: "deployments", Discovered: true, Source: FromCache, Code: 200, Bytes: 5})
	m.Done(&Event{Method: "GET", Scope: "resource", Verb: "get", Version: "v1", Resource: "nonsense", Source: FromUpstream, Reason: Undiscovered, Code: 404, Took: time.Second})
	m.Done(&Event{Method: "GET", Verb: "get", Source: FromFacade, Code: 200}) // health
	m.Done(&Event{Method: "GET", Scope: "resource", Subresource: "log", Verb: "get", Source: FromUpstream, Reason: NotARead, Code: 200})
	m.Done(&Event{Method: "HEAD", Scope: "resource", Verb: "get", Source: FromUpstream, Reason: NotARead, Code: 200})
	m.Done(&Event{Method: "POST", Scope: "namespace", Verb: "create", Source: FromFacade, Code: 405})
	m.Done(&Event{Method: "GET", Scope: "cluster", Verb: "watch", Group: "apps", Version: "v1", Resource: "deployments", Discovered: true, Source: FromCache, Code: 200, Returned: 3})
	m.Relisted("apps", "deployments")
	m.Contradicted("apps", "deployments")
	m.Reconnected("apps", "deployments")
	m.Questioned("probe")
	m.Filled("peer")
	return m
}

// The names are an interface: dashboards and alerts are made of them. A change here is one that operators have to be
// told.
func TestNames(t *testing.T) {
	const want = `
listfacade_forms_bytes gauge 
listfacade_forms_evicted_total counter 
listfacade_forms_found_total counter 
listfacade_forms_kept gauge 
listfacade_forms_made_total counter 
listfacade_forwarded_requests_total counter group,reason,resource,verb,version
listfacade_lane_applied_events_total counter encoding,group,resource,version
listfacade_lane_built_indexes_total counter encoding,group,resource,version
listfacade_lane_expired_watches_total counter encoding,group,resource,version
listfacade_lane_feeds gauge encoding,group,resource,version
listfacade_lane_fill_bytes gauge encoding,group,resource,version
listfacade_lane_fill_expected_objects gauge encoding,group,resource,version
listfacade_lane_fill_objects gauge encoding,group,resource,version
listfacade_lane_fills_total counter source
listfacade_lane_history_bytes gauge encoding,group,resource,version
listfacade_lane_index_bytes gauge encoding,group,resource,version
listfacade_lane_indexes gauge encoding,group,resource,version
listfacade_lane_object_bytes gauge encoding,group,resource,version
listfacade_lane_object_memory_bytes gauge encoding,group,resource,version
listfacade_lane_objects gauge encoding,group,resource,version
listfacade_lane_own_indexes gauge encoding,group,resource,version
listfacade_lane_resource_version gauge encoding,group,resource,version
listfacade_lane_stale_seconds gauge encoding,group,resource,version
listfacade_lane_synced gauge encoding,group,resource,version
listfacade_lane_watchers gauge encoding,group,resource,version
listfacade_memory_accounted_bytes gauge account
listfacade_memory_budget_bytes gauge 
listfacade_memory_mapped_bytes gauge 
listfacade_memory_refused_total counter account
listfacade_memory_relieved_bytes_total counter step
listfacade_memory_relieved_total counter step
listfacade_memory_used_bytes gauge 
listfacade_request_duration_seconds histogram source,verb
listfacade_requests_total counter code,group,resource,source,verb,version
listfacade_response_bytes_total counter source,verb
listfacade_upstream_contradictions_total counter group,resource
listfacade_upstream_questions_total counter kind
listfacade_upstream_reconnects_total counter group,resource
listfacade_upstream_relists_total counter group,resource
listfacade_watch_events_total counter group,resource
`
	families, err := filled().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	got.WriteByte('\n')
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "listfacade_") {
			continue
		}
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		slices.Sort(labels)
		fmt.Fprintf(&got, "%s %s %s\n", family.GetName(), strings.ToLower(family.GetType().String()), strings.Join(labels, ","))
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// What is counted is what happened, and only names that discovery knows become labels.
func TestCounts(t *testing.T) {
	w := httptest.NewRecorder()
	filled().Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`listfacade_requests_total{code="200",group="apps",resource="deployments",source="cache",verb="list",version="v1"} 1`,
		`listfacade_requests_total{code="404",group="",resource="",source="upstream",verb="get",version=""} 1`,
		`listfacade_requests_total{code="405",group="",resource="",source="facade",verb="other",version=""} 1`,
		`listfacade_requests_total{code="200",group="",resource="",source="facade",verb="other",version=""} 1`,
		`listfacade_requests_total{code="200",group="",resource="",source="upstream",verb="other",version=""} 2`,
		`listfacade_forwarded_requests_total{group="",reason="undiscovered",resource="",verb="get",version=""} 1`,
		`listfacade_forwarded_requests_total{group="",reason="not_a_read",resource="",verb="other",version=""} 2`,
		`listfacade_request_duration_seconds_sum{source="upstream",verb="get"} 1`,
		`listfacade_response_bytes_total{source="cache",verb="list"} 5`,
		`listfacade_watch_events_total{group="apps",resource="deployments"} 3`,
		`listfacade_lane_applied_events_total{encoding="json",group="apps",resource="deployments",version="v1"} 7`,
		`listfacade_upstream_relists_total{group="apps",resource="deployments"} 1`,
		`listfacade_upstream_contradictions_total{group="apps",resource="deployments"} 1`,
		`listfacade_upstream_reconnects_total{group="apps",resource="deployments"} 1`,
		`listfacade_upstream_questions_total{kind="probe"} 1`,
	} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("%s is not told", line)
		}
	}
	for _, line := range []string{`nonsense`, `duration_seconds_count{source="cache",verb="watch"}`, `reason=""`, `TYPE listfacade_lane_applied_events_total gauge`} {
		if strings.Contains(string(text), line) {
			t.Errorf("%s is told", line)
		}
	}
}
