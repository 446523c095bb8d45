package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/listfacade/listfacade/internal/observe"
)

// readMetrics count the cost of reads, under kube-apiserver's names.
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
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_" + name, Help: help},
			append([]string{"group", "resource"}, labels...))
	}
	return readMetrics{
		wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "apiserver_watch_cache_read_wait_seconds",
			Help:    "Time in seconds that a GET or LIST waited for the cache to be fresh enough.",
			Buckets: []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3},
		}, []string{"group", "resource"}),
		consistent: count("watch_cache_consistent_read_total",
			"Consistent lists, by whether they succeeded and whether they fell back to the upstream.",
			"success", "fallback"),
		lists: count("storage_list_total", "Lists served from the cache.", "storage", "index"),
		fetched: count("storage_list_fetched_objects_total",
			"Objects examined for lists from the cache; indexes reduce their number.",
			"storage", "index"),
		evaluated: count("storage_list_evaluated_objects_total",
			"Objects compared with the selectors of lists from the cache.", "storage"),
		returned: count("storage_list_returned_objects_total", "Objects returned by lists from the cache.", "storage"),
	}
}

func (r readMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{r.wait, r.consistent, r.lists, r.fetched, r.evaluated, r.returned}
}

// Label values that kube-apiserver uses for lists from its cache, and for lists without an index. The facade uses
// noIndex also for lists with an index. Clients decide which labels the facade indexes. With a label value for each
// index, clients could add series without limit.
const (
	watchCache = "watchcache"
	noIndex    = ""
)

// Values of Event.Plan. planAny needs no freshness check. planMostRecent is a consistent read.
const (
	planNone       = ""
	planAny        = "Any"
	planMostRecent = "MostRecent"
)

func (r readMetrics) done(e *observe.Event) {
	read := readLabel(e)
	if !e.Discovered || e.Plan == planNone || read != readGet && read != readList {
		return
	}
	if e.Plan != planAny {
		r.wait.WithLabelValues(e.Group, e.Resource).Observe(e.Waits[observe.Proving].Seconds())
	}
	if read != readList {
		return
	}
	if e.Plan == planMostRecent {
		r.consistent.WithLabelValues(e.Group, e.Resource, truth(e.Code < 400), truth(e.Source == observe.FromUpstream)).Inc()
	}
	if e.Source == observe.FromCache && e.Code < 400 {
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
