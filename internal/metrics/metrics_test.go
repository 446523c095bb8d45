package metrics

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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/observe"
)

// filled returns Metrics in which every metric has a series.
func filled() *Metrics {
	m := New(Sources{
		Lanes: func() []LaneStats {
			return []LaneStats{{Group: "apps", Version: "v1", Resource: "deployments", Encoding: "json", Synced: true, Applied: 7, ResourceVersion: 8}}
		},
		Precompressed: func() PrecompressedStats { return PrecompressedStats{Bytes: 1} },
		Memory: func() MemoryStats {
			return MemoryStats{
				Accounted: map[string]int64{"lanes": 1}, Relieved: map[string]int64{"forms": 1}, RelievedOf: map[string]int64{"forms": 1},
				Refused: map[string]int64{"answers": 1},
			}
		},
		Certificates: func() []Certificate { return []Certificate{{Name: "serving", NotAfter: time.Unix(1, 0)}} },
		Endpoints:    func() []Endpoint { return []Endpoint{{Host: "a:6443", InUse: true, Ready: true}, {Host: "b:6443"}} },
		Audit:        func() (AuditBacklog, bool) { return AuditBacklog{}, true },
		Reviews:      func() []ReviewStats { return []ReviewStats{{Host: "a:6443", Seats: 4, InUse: 2, Waiting: 1, Paced: 3}} },
		SelfAudit:    6 * time.Hour,
	})
	m.ExposeSLI()
	deployments := observe.Event{
		Method: "GET", Scope: "cluster", Verb: "list", Group: "apps", Version: "v1", Resource: "deployments", Discovered: true, Plan: "MostRecent",
		Source: observe.FromCache, Code: 200, Bytes: 5, Looked: 3, Returned: 2,
	}
	m.Done(&deployments)
	m.Done(&observe.Event{Method: "GET", Scope: "resource", Verb: "get", Version: "v1", Resource: "nonsense", Source: observe.FromUpstream, Reason: observe.Undiscovered, Code: 404, Took: time.Second})
	m.Done(&observe.Event{Method: "GET", Verb: "get", URI: "/livez?verbose", Source: observe.FromFacade, Code: 200})
	m.Done(&observe.Event{Method: "GET", Verb: "get", URI: "/made/up", Source: observe.FromFacade, Code: 200})
	m.Done(&observe.Event{Method: "GET", Scope: "resource", Version: "v1", Resource: "pods", Subresource: "log", Verb: "get", Discovered: true, Source: observe.FromUpstream, Reason: observe.NotARead, Code: 200})
	m.Done(&observe.Event{Method: "HEAD", Scope: "resource", Verb: "get", Source: observe.FromUpstream, Reason: observe.NotARead, Code: 200})
	m.Done(&observe.Event{Method: "POST", Scope: "namespace", Verb: "create", Source: observe.FromFacade, Code: 405})
	m.Done(&observe.Event{Method: "BREW", Scope: "namespace", Verb: "brew", Source: observe.FromFacade, Code: 4711})
	watch := deployments
	watch.Verb = "watch"
	m.Admitted(&watch)
	meter := m.Watch(&watch)
	meter.Add(2, 4000)
	meter.Add(1, 1)
	meter.InitialEnd()
	meter.Sent()
	m.Done(&watch)
	m.Relisted("apps", "deployments")
	m.Contradicted("apps", "deployments")
	m.Reconnected("apps", "deployments")
	m.Questioned("probe")
	m.Filled("peer")
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	m.SelfAudited(pods, "json", "same", 7)
	m.SelfAuditPassed(pods, "json")
	m.SelfAuditDiffered(pods, "json", "missing")
	m.SelfAuditRelisted(pods, "json")
	m.Asked("watch", 429, time.Second)
	m.Attempted("success")
	m.TokenAccepted("review")
	m.Decided("allowed")
	m.Reviewed("token", "good", time.Second)
	m.RightsChanged("lost")
	m.Terminated("denied")
	m.LostWindow("apps", "deployments", "replayed")
	return m
}

// Dashboards and alerts use the names. Operators must be informed of every change here.
func TestNames(t *testing.T) {
	const want = `
apiserver_audit_error_total counter plugin
apiserver_audit_event_total counter 
apiserver_audit_level_total counter level
apiserver_audit_requests_rejected_total counter 
apiserver_current_inflight_requests gauge request_kind
apiserver_longrunning_requests gauge component,group,resource,scope,subresource,verb,version
apiserver_request_duration_seconds histogram component,dry_run,group,resource,scope,subresource,verb,version
apiserver_request_sli_duration_seconds histogram component,group,resource,scope,subresource,verb,version
apiserver_request_total counter code,component,dry_run,group,resource,scope,subresource,verb,version
apiserver_resource_objects gauge group,resource
apiserver_resource_size_estimate_bytes gauge group,resource
apiserver_response_sizes histogram component,group,resource,scope,subresource,verb,version
apiserver_storage_list_evaluated_objects_total counter group,resource,storage
apiserver_storage_list_fetched_objects_total counter group,index,resource,storage
apiserver_storage_list_returned_objects_total counter group,resource,storage
apiserver_storage_list_total counter group,index,resource,storage
apiserver_terminated_watchers_total counter group,resource
apiserver_watch_cache_consistent_read_total counter fallback,group,resource,success
apiserver_watch_cache_events_received_total counter group,resource
apiserver_watch_cache_initializations_total counter group,resource
apiserver_watch_cache_read_wait_seconds histogram group,resource
apiserver_watch_cache_resource_version gauge group,resource
apiserver_watch_events_sizes histogram group,resource,version
apiserver_watch_events_total counter group,resource,version
apiserver_watch_list_duration_seconds histogram group,resource,scope,version
listfacade_accepted_tokens_total counter by
listfacade_audit_waiting_bytes gauge 
listfacade_audit_waiting_lines gauge 
listfacade_authentication_attempts_total counter result
listfacade_authorization_decisions_total counter decision
listfacade_caused_cpu_seconds_total counter purpose
listfacade_certificate_expiration_timestamp_seconds gauge certificate
listfacade_decisions_shared gauge 
listfacade_displaced_answers_total counter 
listfacade_displaced_watches_total counter 
listfacade_forwarded_requests_total counter group,reason,resource,verb,version
listfacade_journal_errors_total counter 
listfacade_journal_holes_total counter reason
listfacade_lane_built_indexes_total counter encoding,group,resource,version
listfacade_lane_feeds gauge encoding,group,resource,version
listfacade_lane_fill_bytes gauge encoding,group,resource,version
listfacade_lane_fill_expected_objects gauge encoding,group,resource,version
listfacade_lane_fill_objects gauge encoding,group,resource,version
listfacade_lane_fills_total counter source
listfacade_lane_history_bytes gauge encoding,group,resource,version
listfacade_lane_index_bytes gauge encoding,group,resource,version
listfacade_lane_indexes gauge encoding,group,resource,version
listfacade_lane_lag_events gauge encoding,group,resource,version
listfacade_lane_object_bytes gauge encoding,group,resource,version
listfacade_lane_object_memory_bytes gauge encoding,group,resource,version
listfacade_lane_own_indexes gauge encoding,group,resource,version
listfacade_lane_stale_seconds gauge encoding,group,resource,version
listfacade_lane_synced gauge encoding,group,resource,version
listfacade_lane_watchers gauge encoding,group,resource,version
listfacade_lost_windows_total counter group,outcome,resource
listfacade_memory_accounted_bytes gauge account
listfacade_memory_budget_bytes gauge 
listfacade_memory_mapped_bytes gauge 
listfacade_memory_refused_total counter account
listfacade_memory_relieved_bytes_total counter step
listfacade_memory_relieved_total counter step
listfacade_memory_used_bytes gauge 
listfacade_precompressed_pages_bytes gauge 
listfacade_precompressed_pages_evicted_total counter 
listfacade_precompressed_pages_found_total counter 
listfacade_precompressed_pages_kept gauge 
listfacade_precompressed_pages_made_total counter 
listfacade_request_duration_seconds histogram source,verb
listfacade_requests_total counter group,resource,source,verb,version
listfacade_response_bytes_total counter source,verb
listfacade_review_duration_seconds histogram result,review
listfacade_review_seats gauge endpoint
listfacade_review_seats_in_use gauge endpoint
listfacade_reviews_waiting gauge cause,endpoint
listfacade_rights_changes_total counter change
listfacade_saved_bytes_total counter 
listfacade_saved_cpu_seconds_total counter 
listfacade_saved_lists_total counter 
listfacade_saved_watch_events_total counter 
listfacade_self_audit_age_seconds gauge encoding,group,resource,version
listfacade_self_audit_differences_total counter encoding,group,kind,resource,version
listfacade_self_audit_differing_objects gauge encoding,group,resource,version
listfacade_self_audit_interval_seconds gauge 
listfacade_self_audit_objects_total counter encoding,group,resource,version
listfacade_self_audit_pages_total counter result
listfacade_self_audit_passes_total counter encoding,group,resource,version
listfacade_self_audit_relists_total counter encoding,group,resource,version
listfacade_stalled_watches_total counter group,resource,version
listfacade_upstream_contradictions_total counter group,resource
listfacade_upstream_endpoint_in_use gauge endpoint
listfacade_upstream_endpoint_ready gauge endpoint
listfacade_upstream_questions_total counter kind
listfacade_upstream_reconnects_total counter group,resource
listfacade_upstream_relists_total counter group,resource
listfacade_upstream_request_duration_seconds histogram request
listfacade_upstream_requests_total counter code,request
listfacade_watch_terminations_total counter reason
`
	families, err := filled().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	got.WriteByte('\n')
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "listfacade_") && !strings.HasPrefix(family.GetName(), "apiserver_") {
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
		t.Errorf("%s: got %s", problem.Metric, problem.Text)
	}
}

// Metrics count events correctly, and only discovered names become labels.
func TestCounts(t *testing.T) {
	w, m := httptest.NewRecorder(), filled()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if cache, own := m.Answered("cache"), m.Answered("facade"); cache != 2 || own != 4 {
		t.Errorf("got %d requests answered by the cache and %d by the facade", cache, own)
	}
	for _, line := range []string{
		`listfacade_requests_total{group="apps",resource="deployments",source="cache",verb="list",version="v1"} 1`,
		`listfacade_requests_total{group="",resource="",source="upstream",verb="get",version=""} 1`,
		`listfacade_requests_total{group="",resource="",source="facade",verb="other",version=""} 4`,
		`listfacade_forwarded_requests_total{group="",reason="undiscovered",resource="",verb="get",version=""} 1`,
		`listfacade_forwarded_requests_total{group="",reason="not_a_read",resource="",verb="other",version=""} 1`,
		`listfacade_forwarded_requests_total{group="",reason="not_a_read",resource="pods",verb="other",version="v1"} 1`,
		`listfacade_request_duration_seconds_sum{source="upstream",verb="get"} 1`,
		`listfacade_response_bytes_total{source="cache",verb="list"} 5`,
		`listfacade_upstream_relists_total{group="apps",resource="deployments"} 1`,
		`listfacade_upstream_contradictions_total{group="apps",resource="deployments"} 1`,
		`listfacade_upstream_reconnects_total{group="apps",resource="deployments"} 1`,
		`listfacade_upstream_questions_total{kind="probe"} 1`,
		`listfacade_upstream_requests_total{code="429",request="watch"} 1`,
		`apiserver_request_total{code="200",component="listfacade",dry_run="",group="apps",resource="deployments",scope="cluster",subresource="",verb="LIST",version="v1"} 1`,
		`apiserver_request_total{code="200",component="listfacade",dry_run="",group="apps",resource="deployments",scope="cluster",subresource="",verb="WATCH",version="v1"} 1`,
		`apiserver_request_total{code="200",component="listfacade",dry_run="",group="",resource="",scope="",subresource="/livez",verb="GET",version=""} 1`,
		`apiserver_request_total{code="200",component="listfacade",dry_run="",group="",resource="",scope="",subresource="",verb="GET",version=""} 1`,
		`apiserver_request_total{code="200",component="listfacade",dry_run="",group="",resource="pods",scope="resource",subresource="log",verb="CONNECT",version="v1"} 1`,
		`apiserver_request_total{code="405",component="listfacade",dry_run="",group="",resource="",scope="namespace",subresource="",verb="POST",version=""} 1`,
		`apiserver_request_total{code="0",component="listfacade",dry_run="",group="",resource="",scope="namespace",subresource="",verb="other",version=""} 1`,
		`apiserver_request_sli_duration_seconds_count{component="listfacade",group="apps",resource="deployments",scope="cluster",subresource="",verb="LIST",version="v1"} 1`,
		`apiserver_response_sizes_sum{component="listfacade",group="apps",resource="deployments",scope="cluster",subresource="",verb="LIST",version="v1"} 5`,
		`apiserver_longrunning_requests{component="listfacade",group="apps",resource="deployments",scope="cluster",subresource="",verb="WATCH",version="v1"} 1`,
		`apiserver_watch_events_total{group="apps",resource="deployments",version="v1"} 3`,
		`apiserver_watch_events_sizes_bucket{group="apps",resource="deployments",version="v1",le="1024"} 1`,
		`apiserver_watch_events_sizes_bucket{group="apps",resource="deployments",version="v1",le="2048"} 3`,
		`apiserver_watch_events_sizes_sum{group="apps",resource="deployments",version="v1"} 4001`,
		`apiserver_watch_list_duration_seconds_count{group="apps",resource="deployments",scope="cluster",version="v1"} 1`,
		`apiserver_watch_cache_consistent_read_total{fallback="false",group="apps",resource="deployments",success="true"} 1`,
		`apiserver_watch_cache_read_wait_seconds_count{group="apps",resource="deployments"} 1`,
		`apiserver_storage_list_fetched_objects_total{group="apps",index="",resource="deployments",storage="watchcache"} 3`,
		`apiserver_storage_list_returned_objects_total{group="apps",resource="deployments",storage="watchcache"} 2`,
		`apiserver_watch_cache_events_received_total{group="apps",resource="deployments"} 7`,
		`apiserver_watch_cache_resource_version{group="apps",resource="deployments"} 8`,
		`listfacade_certificate_expiration_timestamp_seconds{certificate="serving"} 1`,
	} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("got no line %s", line)
		}
	}
	for _, line := range []string{`nonsense`, `duration_seconds_count{source="cache",verb="watch"}`, `reason=""`, `made/up`, `BREW`, `"4711"`} {
		if strings.Contains(string(text), line) {
			t.Errorf("got the line %s, want none", line)
		}
	}
}
