package main

// rows returns the rows of the dashboard. The first rows show effects on clients, the last rows the costs.
func rows() []row {
	return []row{requests(), lanes(), watches(), freshness(), selfAudit(), upstream(), callers(), saved(), memory()}
}

// saved returns the row about work that kube-apiserver does not have to do. The CPU is an estimate (prices of
// docs/benchmarks.md).
func saved() row {
	const cpu, caused = "listfacade_saved_cpu_seconds_total", "listfacade_caused_cpu_seconds_total"
	all := func(metric string) string { return "sum(rate(" + metric + "{" + pods + "}[$__rate_interval]))" }
	return row{"Saved at kube-apiserver", []graph{
		{"Saved CPU, estimate", "Processors that kube-apiserver would need for reads from the cache, and what remains after the facade's own requests.",
			"short", []query{
				{all(cpu), "reads from the cache"}, {all(cpu) + " - " + all(caused), "after the facade's own requests"}}},
		{"CPU for the facade's own requests, estimate", "", "short", []query{{rate("purpose", caused, pods), "{{purpose}}"}}},
		{"Saved lists and events", "", "short", []query{
			{all("listfacade_saved_lists_total"), "lists"}, {all("listfacade_saved_watch_events_total"), "watch events"}}},
		{"Saved bytes", "Before compression.", "Bps", []query{{all("listfacade_saved_bytes_total"), "bytes"}}},
	}}
}

func requests() row {
	return row{"Requests", []graph{
		{"Requests by verb", "", "reqps", []query{{rate("verb", "apiserver_request_total", of), "{{verb}}"}}},
		{"Requests by source", "cache, upstream (forwarded) or facade (refusals, health, metrics).", "reqps",
			[]query{{rate("source", "listfacade_requests_total", pods), "{{source}}"}}},
		{"Forwarded requests by reason", "Why the cache did not answer.", "reqps",
			[]query{{rate("resource, reason", "listfacade_forwarded_requests_total", of), "{{resource}} {{reason}}"}}},
		{"Errors", "Answers of 400 and above, by code.", "reqps",
			[]query{{rate("code", "apiserver_request_total", pods+`,code=~"[45].."`), "{{code}}"}}},
		{"Latency from the cache, 99th percentile", "", "s",
			[]query{{p99("verb", "listfacade_request_duration_seconds", pods+`,source="cache"`), "{{verb}}"}}},
		{"Latency of reads, 99th percentile", "kube-apiserver's metric. It includes forwarded reads.", "s", []query{
			{p99("verb, scope", "apiserver_request_duration_seconds", of+`,verb=~"GET|LIST"`), "{{verb}} {{scope}}"}}},
		{"Requests in flight", "", "short", []query{
			{"sum by (pod) (apiserver_current_inflight_requests{" + pods + "})", "{{pod}}"}}},
		{"Bytes sent", "Bodies after compression.", "Bps",
			[]query{{rate("source, verb", "listfacade_response_bytes_total", pods), "{{source}} {{verb}}"}}},
		{"Objects in lists", "", "short", []query{
			{rate("resource", "apiserver_storage_list_returned_objects_total", of), "{{resource}} returned"},
			{rate("resource", "apiserver_storage_list_fetched_objects_total", of), "{{resource}} examined"}}},
	}}
}

func lanes() row {
	return row{"Cached resources", []graph{
		{"Staleness", "Time without a message from the upstream. 0 while the watch is open and the upstream answers.", "s",
			[]query{{"max by (pod, resource) (listfacade_lane_stale_seconds{" + of + "})", "{{pod}} {{resource}}"}}},
		{"Lanes being filled", "1 while a resource is being listed.", "short",
			[]query{{"1 - min by (pod, resource) (listfacade_lane_synced{" + of + "})", "{{pod}} {{resource}}"}}},
		{"Relists", "Repeated lists, for example because the upstream no longer had the missing events.", "short",
			[]query{{"sum by (pod, resource) (increase(listfacade_upstream_relists_total{" + of + "}[$__rate_interval]))",
				"{{pod}} {{resource}}"}}},
		{"Lag behind the newest replica", "In resourceVersions. A quiet resource lags until its next bookmark.", "short",
			[]query{{
				"max by (group, resource) (apiserver_watch_cache_resource_version{" + of +
					"}) - on (group, resource) group_right () apiserver_watch_cache_resource_version{" + of + "}",
				"{{pod}} {{resource}}"}}},
		{"Events received", "", "short",
			[]query{{rate("resource", "apiserver_watch_cache_events_received_total", of), "{{resource}}"}}},
		{"Events not yet dispatched", "Received events that were not dispatched to watches yet.", "short",
			[]query{{"max by (pod, resource) (listfacade_lane_lag_events{" + of + "})", "{{pod}} {{resource}}"}}},
		{"Objects", "", "short", []query{{"max by (resource) (apiserver_resource_objects{" + of + "})", "{{resource}}"}}},
		{"Memory of objects", "", "bytes",
			[]query{{"max by (resource, encoding) (listfacade_lane_object_memory_bytes{" + of + "})",
				"{{resource}} {{encoding}}"}}},
		{"Memory of history", "", "bytes",
			[]query{{"max by (resource, encoding) (listfacade_lane_history_bytes{" + of + "})", "{{resource}} {{encoding}}"}}},
	}}
}

func watches() row {
	return row{"Watches", []graph{
		{"Open watches", "", "short",
			[]query{{"sum by (pod, resource) (apiserver_longrunning_requests{" + of + `,verb="WATCH"})`,
				"{{pod}} {{resource}}"}}},
		{"Events sent", "", "short", []query{{rate("resource", "apiserver_watch_events_total", of), "{{resource}}"}}},
		{"Expired watches", "Watches that ended with 410 because their clients read too slowly.", "short",
			[]query{{rate("pod, resource", "apiserver_terminated_watchers_total", of), "{{pod}} {{resource}}"}}},
		{"Stalled watches closed", "Watches that were closed because their clients accepted nothing.", "short",
			[]query{{rate("pod, resource", "listfacade_stalled_watches_total", of), "{{pod}} {{resource}}"}}},
		{"Streaming lists, 99th percentile", "Time until the end of the initial events.", "s",
			[]query{{p99("resource", "apiserver_watch_list_duration_seconds", of), "{{resource}}"}}},
		{"Bytes of events", "Before compression.", "Bps",
			[]query{{rate("resource", "apiserver_watch_events_sizes_sum", of), "{{resource}}"}}},
		{"Distinct filters of watches", "", "short",
			[]query{{"sum by (pod, resource) (listfacade_lane_feeds{" + of + "})", "{{pod}} {{resource}}"}}},
	}}
}

func freshness() row {
	return row{"Consistent reads", []graph{
		{"Consistent lists", "By whether kube-apiserver had to answer.", "reqps",
			[]query{{rate("resource, fallback", "apiserver_watch_cache_consistent_read_total", of),
				"{{resource}} forwarded: {{fallback}}"}}},
		{"Freshness check wait, 99th percentile", "", "s",
			[]query{{p99("resource", "apiserver_watch_cache_read_wait_seconds", of), "{{resource}}"}}},
		{"Freshness check requests", "Requests to kube-apiserver by kind.", "reqps",
			[]query{{rate("kind", "listfacade_upstream_questions_total", pods), "{{kind}}"}}},
	}}
}

func selfAudit() row {
	const lane = "pod, resource, encoding"
	return row{"Self-audit", []graph{
		{"Time since the last complete comparison", "Before the first one, time since the resource was first cached.", "s", []query{
			{"max by (" + lane + ") (listfacade_self_audit_age_seconds{" + of + "})", "{{pod}} {{resource}} {{encoding}}"},
			{"max(listfacade_self_audit_interval_seconds{" + pods + "})", "--self-audit-interval"}}},
		{"Differing objects", "With the relists that they caused.", "short", []query{
			{"sum by (" + lane + ", kind) (increase(listfacade_self_audit_differences_total{" + of + "}[$__rate_interval]))",
				"{{pod}} {{resource}} {{encoding}} {{kind}}"},
			{"sum by (" + lane + ") (increase(listfacade_self_audit_relists_total{" + of + "}[$__rate_interval]))",
				"{{pod}} {{resource}} {{encoding}} relists"},
			{"max by (" + lane + ") (listfacade_self_audit_differing_objects{" + of + "})",
				"{{pod}} {{resource}} {{encoding}} still differ"}}},
		{"Pages compared", "By result. Doubtful pages are compared again.", "short",
			[]query{{rate("result", "listfacade_self_audit_pages_total", pods), "{{result}}"}}},
		{"Objects compared", "", "short",
			[]query{{rate("resource, encoding", "listfacade_self_audit_objects_total", of), "{{resource}} {{encoding}}"}}},
		{"Complete comparisons per day", "Times that all objects were compared.", "short",
			[]query{{"sum by (" + lane + ") (increase(listfacade_self_audit_passes_total{" + of + "}[1d]))",
				"{{pod}} {{resource}} {{encoding}}"}}},
	}}
}

func upstream() row {
	return row{"kube-apiserver", []graph{
		{"Requests to kube-apiserver", "", "reqps",
			[]query{{rate("request", "listfacade_upstream_requests_total", pods), "{{request}}"}}},
		{"Failed requests to kube-apiserver", "Code 0: no answer. Code 429: throttled.", "reqps",
			[]query{{rate("request, code", "listfacade_upstream_requests_total", pods+`,code!~"2.."`), "{{request}} {{code}}"}}},
		{"kube-apiserver latency, 99th percentile", "", "s",
			[]query{{p99("request", "listfacade_upstream_request_duration_seconds", pods), "{{request}}"}}},
	}}
}

func callers() row {
	return row{"Callers", []graph{
		{"Authentication results", "", "reqps",
			[]query{{rate("result", "listfacade_authentication_attempts_total", pods), "{{result}}"}}},
		{"Authorization decisions", "", "reqps",
			[]query{{rate("decision", "listfacade_authorization_decisions_total", pods), "{{decision}}"}}},
		{"Review latency, 99th percentile", "", "s",
			[]query{{p99("review, result", "listfacade_review_duration_seconds", pods), "{{review}} {{result}}"}}},
	}}
}

func memory() row {
	return row{"Process", []graph{
		{"Memory", "", "bytes", []query{
			{"listfacade_memory_used_bytes{" + pods + "}", "{{pod}} used"},
			{"listfacade_memory_budget_bytes{" + pods + "}", "{{pod}} budget"},
			{"process_resident_memory_bytes{" + pods + "}", "{{pod}} resident"}}},
		{"Memory by account", "", "bytes",
			[]query{{"sum by (account) (listfacade_memory_accounted_bytes{" + pods + "})", "{{account}}"}}},
		{"Memory relieved and refused", "Steps that freed memory, and requests refused for lack of it.", "short", []query{
			{rate("step", "listfacade_memory_relieved_total", pods), "{{step}} relieved"},
			{rate("account", "listfacade_memory_refused_total", pods), "{{account}} refused"}}},
		{"CPU", "", "short", []query{{rate("pod", "process_cpu_seconds_total", pods), "{{pod}}"}}},
		{"Precompressed pages", "Compressed parts of lists that were found, made or evicted.", "short", []query{
			{rate("pod", "listfacade_precompressed_pages_found_total", pods), "{{pod}} found"},
			{rate("pod", "listfacade_precompressed_pages_made_total", pods), "{{pod}} made"},
			{rate("pod", "listfacade_precompressed_pages_evicted_total", pods), "{{pod}} evicted"}}},
		{"Time until certificates expire", "", "s", []query{
			{"min by (certificate) (listfacade_certificate_expiration_timestamp_seconds{" + pods + "}) - time()",
				"{{certificate}}"}}},
		{"Audit log", "Lines waiting to be written, and lost events.", "short", []query{
			{"sum by (pod) (listfacade_audit_waiting_lines{" + pods + "})", "{{pod}} waiting"},
			{rate("pod, plugin", "apiserver_audit_error_total", pods), "{{pod}} lost: {{plugin}}"}}},
		{"Journal", "How long the oldest event waits to be written, and holes.", "s", []query{
			{"listfacade_journal_lag_seconds{" + pods + "}", "{{pod}} lag"},
			{rate("pod, reason", "listfacade_journal_holes_total", pods), "{{pod}} holes: {{reason}}"},
			{rate("pod", "listfacade_journal_errors_total", pods), "{{pod}} errors"}}},
		{"Size of the journal", "", "bytes", []query{{"listfacade_journal_bytes{" + pods + "}", "{{pod}}"}}},
		{"Goroutines", "", "short", []query{{"go_goroutines{" + pods + "}", "{{pod}}"}}},
		{"Health", "1: the last probe of this check succeeded.", "short",
			[]query{{"min by (pod, name) (kubernetes_healthcheck{" + pods + `,type="readyz"})`, "{{pod}} {{name}}"}}},
		{"Failed or slow reads", "Share of all reads. The error budget is 1 %.", "percentunit", []query{
			{"listfacade:read_errors:ratio_rate5m", "5 minutes"}, {"listfacade:read_errors:ratio_rate1h", "1 hour"},
			{"listfacade:read_errors:ratio_rate1d", "1 day"}}},
	}}
}
