package observe

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is every metric of one facade, in a registry of its own. Safe for concurrent use.
type Metrics struct {
	registry       *prometheus.Registry
	requests       *prometheus.CounterVec
	forwarded      *prometheus.CounterVec
	durations      *prometheus.HistogramVec
	bytes          *prometheus.CounterVec
	relists        *prometheus.CounterVec
	contradictions *prometheus.CounterVec
	reconnects     *prometheus.CounterVec
	questions      *prometheus.CounterVec
	fills          *prometheus.CounterVec
	watchEvents    *prometheus.CounterVec
	access         accessMetrics
}

// Sources are what is read at each scrape.
type Sources struct {
	Lanes  LaneSource
	Forms  FormsSource
	Memory MemorySource
}

// NewMetrics registers the metrics. What has no source has none.
func NewMetrics(sources Sources) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.requests = counter("requests_total", "Requests answered, by who answered: cache, upstream or facade.",
		"verb", "group", "version", "resource", "code", "source")
	m.forwarded = counter("forwarded_requests_total", "Requests that the upstream answered, by why the cache did not.",
		"verb", "group", "version", "resource", "reason")
	m.durations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "listfacade_request_duration_seconds", Help: "Time to answer a request; watches are not counted.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18),
	}, []string{"verb", "source"})
	m.bytes = counter("response_bytes_total", "Bytes of bodies sent, after compression.", "verb", "source")
	m.relists = counter("upstream_relists_total", "Times that a lane lost the upstream's window and was listed again.",
		"group", "resource")
	m.contradictions = counter("upstream_contradictions_total",
		"Times that a lane had other objects than the upstream at the same resourceVersion.", "group", "resource")
	m.reconnects = counter("upstream_reconnects_total", "Times that a lane's watch ended and was resumed.", "group", "resource")
	m.questions = counter("upstream_questions_total", "Questions that prove the cache fresh: probe, rollcall or fence.", "kind")
	m.fills = counter("lane_fills_total", "Times that a lane was filled, by whose list it was: upstream or peer.", "source")
	m.watchEvents = counter("watch_events_total", "Events sent to watchers, bookmarks included, counted when a watch ends.",
		"group", "resource")
	m.access = newAccessMetrics()
	m.registry.MustRegister(m.access.all()...)
	m.registry.MustRegister(m.requests, m.forwarded, m.durations, m.bytes, m.relists, m.contradictions, m.reconnects,
		m.questions, m.fills, m.watchEvents, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	sources.register(m.registry)
	return m
}

func (s Sources) register(in *prometheus.Registry) {
	if s.Lanes != nil {
		in.MustRegister(newLaneCollector(s.Lanes))
	}
	if s.Forms != nil {
		in.MustRegister(newFormsCollector(s.Forms))
	}
	if s.Memory != nil {
		in.MustRegister(newMemoryCollector(s.Memory))
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "listfacade", Name: name, Help: help}, labels)
}

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Done implements Sink.
func (m *Metrics) Done(e *Event) {
	verb, source := verbLabel(e), string(e.Source)
	var group, version, resource string
	if e.Discovered {
		group, version, resource = e.Group, e.Version, e.Resource
	}
	m.requests.WithLabelValues(verb, group, version, resource, strconv.Itoa(e.Code), source).Inc()
	m.bytes.WithLabelValues(verb, source).Add(float64(e.Bytes))
	if e.Source == FromUpstream {
		m.forwarded.WithLabelValues(verb, group, version, resource, string(e.Reason)).Inc()
	}
	if verb != "watch" {
		m.durations.WithLabelValues(verb, source).Observe(e.Took.Seconds())
	} else if e.Source == FromCache {
		m.watchEvents.WithLabelValues(group, resource).Add(float64(e.Returned))
	}
}

// verbLabel keeps the reads of objects apart; documents, health, logs and whatever else a path or a method may say are
// one value: their times and sizes have nothing in common with those of objects.
func verbLabel(e *Event) string {
	switch e.Verb {
	case "get", "list", "watch":
		if e.Method == http.MethodGet && e.Scope != "" && e.Subresource == "" {
			return e.Verb
		}
	}
	return "other"
}

// Contradicted counts a lane that had other objects than the upstream at the same resourceVersion.
func (m *Metrics) Contradicted(group, resource string) {
	m.contradictions.WithLabelValues(group, resource).Inc()
}

// Relisted counts a lane that lost the upstream's window.
func (m *Metrics) Relisted(group, resource string) { m.relists.WithLabelValues(group, resource).Inc() }

// Reconnected counts a lane's watch that was resumed.
func (m *Metrics) Reconnected(group, resource string) {
	m.reconnects.WithLabelValues(group, resource).Inc()
}

// Filled counts a lane that was filled.
func (m *Metrics) Filled(source string) { m.fills.WithLabelValues(source).Inc() }

// Questioned counts a question that proves the cache fresh.
func (m *Metrics) Questioned(kind string) { m.questions.WithLabelValues(kind).Inc() }
