package observe

import "github.com/prometheus/client_golang/prometheus"

// readMetrics count what reads that the cache answers, or was to answer, cost.
type readMetrics struct {
	wait       *prometheus.HistogramVec // apiserver_watch_cache_read_wait_seconds
	consistent *prometheus.CounterVec   // apiserver_watch_cache_consistent_read_total
	lists      *prometheus.CounterVec   // apiserver_storage_list_total
	fetched    *prometheus.CounterVec   // apiserver_storage_list_fetched_objects_total
	evaluated  *prometheus.CounterVec   // apiserver_storage_list_evaluated_objects_total
	returned   *prometheus.CounterVec   // apiserver_storage_list_returned_objects_total
}

func newReadMetrics() readMetrics {
	count := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_" + name, Help: help}, append([]string{"group", "resource"}, labels...))
	}
	return readMetrics{
		wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "apiserver_watch_cache_read_wait_seconds", Help: "Time that a GET or LIST waited until the cache was proven fresh enough.",
			Buckets: []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3},
		}, []string{"group", "resource"}),
		consistent: count("watch_cache_consistent_read_total",
			"Lists of everything written before them, by whether they were answered well, and whether it was the upstream that answered.",
			"success", "fallback"),
		lists: count("storage_list_total", "Lists that the cache answered.", "storage", "index"),
		fetched: count("storage_list_fetched_objects_total", "Objects that were looked at for these lists; fewer where an index was used.",
			"storage", "index"),
		evaluated: count("storage_list_evaluated_objects_total", "Objects that were compared with what these lists select by.", "storage"),
		returned:  count("storage_list_returned_objects_total", "Objects in these lists.", "storage"),
	}
}

func (r readMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{r.wait, r.consistent, r.lists, r.fetched, r.evaluated, r.returned}
}

// What kube-apiserver calls its own cache, and a list without one of its indexes. Which labels are indexed is for
// clients to bring about, so that no index is named.
const (
	watchCache = "watchcache"
	noIndex    = ""
)

// Plans of reads that need no proof, and of consistent ones.
const (
	planNone       = ""
	planAny        = "Any"
	planMostRecent = "MostRecent"
)

// done counts a read of a resource that discovery knows.
func (r readMetrics) done(e *Event) {
	read := readLabel(e)
	if !e.Discovered || e.Plan == planNone || read != readGet && read != readList {
		return
	}
	if e.Plan != planAny {
		r.wait.WithLabelValues(e.Group, e.Resource).Observe(e.Waits[Proving].Seconds())
	}
	if read != readList {
		return
	}
	if e.Plan == planMostRecent {
		r.consistent.WithLabelValues(e.Group, e.Resource, truth(e.Code < 400), truth(e.Source == FromUpstream)).Inc()
	}
	if e.Source == FromCache && e.Code < 400 {
		r.lists.WithLabelValues(e.Group, e.Resource, watchCache, noIndex).Inc()
		r.fetched.WithLabelValues(e.Group, e.Resource, watchCache, noIndex).Add(float64(e.Looked))
		r.evaluated.WithLabelValues(e.Group, e.Resource, watchCache).Add(float64(e.Looked))
		r.returned.WithLabelValues(e.Group, e.Resource, watchCache).Add(float64(e.Returned))
	}
}

func truth(is bool) string {
	if is {
		return "true"
	}
	return "false"
}
