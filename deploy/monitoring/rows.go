package main

// rows are the dashboard, from what clients see to what it costs.
func rows() []row {
	return []row{requests(), lanes(), watches(), checks(), selfAudit(), upstream(), callers(), memory()}
}

func requests() row {
	return row{"Requests", []graph{
		{"Requests by verb", "", "reqps", []query{{rate("verb", "apiserver_request_total", of), "{{verb}}"}}},
		{"Answered by", "cache, upstream (passed on) or facade (refused, health, metrics).", "reqps",
			[]query{{rate("source", "listfacade_requests_total", pods), "{{source}}"}}},
		{"Passed on, by reason", "Why the cache did not answer.", "reqps",
			[]query{{rate("resource, reason", "listfacade_forwarded_requests_total", of), "{{resource}} {{reason}}"}}},
		{"Errors", "Answers of 400 and above, by code.", "reqps",
			[]query{{rate("code", "apiserver_request_total", pods+`,code=~"[45].."`), "{{code}}"}}},
		{"99th percentile, from the cache", "", "s",
			[]query{{p99("verb", "listfacade_request_duration_seconds", pods+`,source="cache"`), "{{verb}}"}}},
		{"99th percentile, as kube-apiserver counts it", "Whoever answered.", "s", []query{
			{p99("verb, scope", "apiserver_request_duration_seconds", of+`,verb=~"GET|LIST"`), "{{verb}} {{scope}}"}}},
		{"Under way", "", "short", []query{
			{"sum by (pod) (apiserver_current_inflight_requests{" + pods + "})", "{{pod}}"}}},
		{"Sent", "Bytes of bodies, after compression.", "Bps", []query{{rate("source, verb", "listfacade_response_bytes_total", pods), "{{source}} {{verb}}"}}},
		{"Objects in lists", "", "short", []query{
			{rate("resource", "apiserver_storage_list_returned_objects_total", of), "{{resource}} sent"},
			{rate("resource", "apiserver_storage_list_fetched_objects_total", of), "{{resource}} looked at"}}},
	}}
}

func lanes() row {
	return row{"Cached resources", []graph{
		{"Not heard of for", "0 while the watch is open and the upstream answers.", "s",
			[]query{{"max by (pod, resource) (listfacade_lane_stale_seconds{" + of + "})", "{{pod}} {{resource}}"}}},
		{"Not filled", "1 while a resource is being listed.", "short",
			[]query{{"1 - min by (pod, resource) (listfacade_lane_synced{" + of + "})", "{{pod}} {{resource}}"}}},
		{"Listed again", "How often the upstream no longer had the events that were missing.", "short",
			[]query{{"sum by (pod, resource) (increase(listfacade_upstream_relists_total{" + of + "}[$__rate_interval]))", "{{pod}} {{resource}}"}}},
		{"Behind the first replica", "In resourceVersions: a quiet resource falls behind until its next bookmark.", "short", []query{{
			"max by (group, resource) (apiserver_watch_cache_resource_version{" + of + "}) - on (group, resource) group_right () apiserver_watch_cache_resource_version{" + of + "}",
			"{{pod}} {{resource}}"}}},
		{"Events taken", "", "short", []query{{rate("resource", "apiserver_watch_cache_events_received_total", of), "{{resource}}"}}},
		{"Events that watches lack", "Taken, and not yet offered to watches.", "short",
			[]query{{"max by (pod, resource) (listfacade_lane_lag_events{" + of + "})", "{{pod}} {{resource}}"}}},
		{"Objects", "", "short", []query{{"max by (resource) (apiserver_resource_objects{" + of + "})", "{{resource}}"}}},
		{"Memory of objects", "", "bytes",
			[]query{{"max by (resource, encoding) (listfacade_lane_object_memory_bytes{" + of + "})", "{{resource}} {{encoding}}"}}},
		{"Memory of history", "", "bytes",
			[]query{{"max by (resource, encoding) (listfacade_lane_history_bytes{" + of + "})", "{{resource}} {{encoding}}"}}},
	}}
}

func watches() row {
	return row{"Watches", []graph{
		{"Open", "", "short", []query{{"sum by (pod, resource) (apiserver_longrunning_requests{" + of + `,verb="WATCH"})`, "{{pod}} {{resource}}"}}},
		{"Events sent", "", "short", []query{{rate("resource", "apiserver_watch_events_total", of), "{{resource}}"}}},
		{"Ended because they read too slowly", "", "short", []query{{rate("pod, resource", "apiserver_terminated_watchers_total", of), "{{pod}} {{resource}}"}}},
		{"Broken off because nobody read", "", "short", []query{{rate("pod, resource", "listfacade_stalled_watches_total", of), "{{pod}} {{resource}}"}}},
		{"Streaming lists, 99th percentile", "Until the initial events are over.", "s",
			[]query{{p99("resource", "apiserver_watch_list_duration_seconds", of), "{{resource}}"}}},
		{"Bytes of events", "Before compression.", "Bps", []query{{rate("resource", "apiserver_watch_events_sizes_sum", of), "{{resource}}"}}},
		{"Different filters", "", "short", []query{{"sum by (pod, resource) (listfacade_lane_feeds{" + of + "})", "{{pod}} {{resource}}"}}},
	}}
}

func checks() row {
	return row{"Consistent reads", []graph{
		{"Consistent lists", "By whether kube-apiserver had to answer.", "reqps",
			[]query{{rate("resource, fallback", "apiserver_watch_cache_consistent_read_total", of), "{{resource}} passed on: {{fallback}}"}}},
		{"Wait for a proof, 99th percentile", "", "s",
			[]query{{p99("resource", "apiserver_watch_cache_read_wait_seconds", of), "{{resource}}"}}},
		{"Questions", "What kube-apiserver was asked to prove them.", "reqps", []query{{rate("kind", "listfacade_upstream_questions_total", pods), "{{kind}}"}}},
	}}
}

func selfAudit() row {
	const lane = "pod, resource, encoding"
	return row{"Self-audit", []graph{
		{"Compared with kube-apiserver", "How long ago all objects had been; since the resource is cached if they never were.", "s", []query{
			{"max by (" + lane + ") (listfacade_self_audit_age_seconds{" + of + "})", "{{pod}} {{resource}} {{encoding}}"},
			{"max(listfacade_self_audit_interval_seconds{" + pods + "})", "--self-audit-interval"}}},
		{"Objects that differ", "And how often the resource was listed again for that.", "short", []query{
			{"sum by (" + lane + ", kind) (increase(listfacade_self_audit_differences_total{" + of + "}[$__rate_interval]))", "{{pod}} {{resource}} {{encoding}} {{kind}}"},
			{"sum by (" + lane + ") (increase(listfacade_self_audit_relists_total{" + of + "}[$__rate_interval]))", "{{pod}} {{resource}} {{encoding}} listed again"},
			{"max by (" + lane + ") (listfacade_self_audit_differing_objects{" + of + "})", "{{pod}} {{resource}} {{encoding}} still differ"}}},
		{"Pages compared", "By what became of them: doubtful ones are looked at again.", "short",
			[]query{{rate("result", "listfacade_self_audit_pages_total", pods), "{{result}}"}}},
		{"Objects compared", "", "short", []query{{rate("resource, encoding", "listfacade_self_audit_objects_total", of), "{{resource}} {{encoding}}"}}},
		{"Passes in a day", "Times that all objects were compared.", "short",
			[]query{{"sum by (" + lane + ") (increase(listfacade_self_audit_passes_total{" + of + "}[1d]))", "{{pod}} {{resource}} {{encoding}}"}}},
	}}
}

func upstream() row {
	return row{"kube-apiserver", []graph{
		{"Asked", "", "reqps", []query{{rate("request", "listfacade_upstream_requests_total", pods), "{{request}}"}}},
		{"Answers that are none", "0: no answer. 429: throttled.", "reqps",
			[]query{{rate("request, code", "listfacade_upstream_requests_total", pods+`,code!~"2.."`), "{{request}} {{code}}"}}},
		{"99th percentile until it answers", "", "s",
			[]query{{p99("request", "listfacade_upstream_request_duration_seconds", pods), "{{request}}"}}},
	}}
}

func callers() row {
	return row{"Callers", []graph{
		{"Who they are", "", "reqps", []query{{rate("result", "listfacade_authentication_attempts_total", pods), "{{result}}"}}},
		{"What they may do", "", "reqps", []query{{rate("decision", "listfacade_authorization_decisions_total", pods), "{{decision}}"}}},
		{"Reviews, 99th percentile", "", "s",
			[]query{{p99("review, result", "listfacade_review_duration_seconds", pods), "{{review}} {{result}}"}}},
	}}
}

func memory() row {
	return row{"Process", []graph{
		{"Memory", "", "bytes", []query{
			{"listfacade_memory_used_bytes{" + pods + "}", "{{pod}} used"}, {"listfacade_memory_budget_bytes{" + pods + "}", "{{pod}} budget"},
			{"process_resident_memory_bytes{" + pods + "}", "{{pod}} resident"}}},
		{"Memory by what takes it", "", "bytes", []query{{"sum by (account) (listfacade_memory_accounted_bytes{" + pods + "})", "{{account}}"}}},
		{"Let go and refused", "", "short", []query{
			{rate("step", "listfacade_memory_relieved_total", pods), "{{step}} let go"}, {rate("account", "listfacade_memory_refused_total", pods), "{{account}} refused"}}},
		{"Processor", "", "short", []query{{rate("pod", "process_cpu_seconds_total", pods), "{{pod}}"}}},
		{"Compressed ahead", "Parts of lists that were found, made, or had to go.", "short", []query{
			{rate("pod", "listfacade_precompressed_pages_found_total", pods), "{{pod}} found"}, {rate("pod", "listfacade_precompressed_pages_made_total", pods), "{{pod}} made"},
			{rate("pod", "listfacade_precompressed_pages_evicted_total", pods), "{{pod}} gone"}}},
		{"Certificates are good for", "", "s", []query{
			{"min by (certificate) (listfacade_certificate_expiration_timestamp_seconds{" + pods + "}) - time()", "{{certificate}}"}}},
		{"Audit log", "Lines that wait to be written, and events that are lost.", "short", []query{
			{"sum by (pod) (listfacade_audit_waiting_lines{" + pods + "})", "{{pod}} wait"}, {rate("pod, plugin", "apiserver_audit_error_total", pods), "{{pod}} lost: {{plugin}}"}}},
		{"Goroutines", "", "short", []query{{"go_goroutines{" + pods + "}", "{{pod}}"}}},
		{"Health", "1: the check held when a probe last asked.", "short",
			[]query{{"min by (pod, name) (kubernetes_healthcheck{" + pods + `,type="readyz"})`, "{{pod}} {{name}}"}}},
		{"Reads that failed or were slow", "Of all reads; the budget is 1 %.", "percentunit", []query{
			{"listfacade:read_errors:ratio_rate5m", "5 minutes"}, {"listfacade:read_errors:ratio_rate1h", "1 hour"}, {"listfacade:read_errors:ratio_rate1d", "1 day"}}},
	}}
}
