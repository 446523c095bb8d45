package observe

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is every metric of one facade, in a registry of its own.
type Metrics struct {
	registry    *prometheus.Registry
	requests    *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	bytes       *prometheus.CounterVec
	relists     *prometheus.CounterVec
	reconnects  *prometheus.CounterVec
	questions   *prometheus.CounterVec
	terminated  *prometheus.CounterVec
	watchEvents *prometheus.CounterVec
}

// NewMetrics registers the metrics; lanes are read by the collector at each scrape.
func NewMetrics(lanes LaneSource) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	request := []string{"verb", "group", "version", "resource", "code", "source"}
	m.requests = counter("listfacade_requests_total", "Requests answered, by who answered: cache, upstream or facade.", request...)
	m.durations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "listfacade_request_duration_seconds", Help: "Time to answer a request; watches are not counted.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18),
	}, []string{"verb", "source"})
	m.bytes = counter("listfacade_response_bytes_total", "Bytes of bodies sent, after compression.", "verb", "source")
	m.relists = counter("listfacade_upstream_relists_total", "Times that a lane lost the upstream's window and was listed again.", "resource")
	m.reconnects = counter("listfacade_upstream_reconnects_total", "Times that a lane's watch ended and was resumed.", "resource")
	m.questions = counter("listfacade_upstream_questions_total",
		"Questions that prove the cache fresh: probe, rollcall or fence.", "kind")
	m.terminated = counter("listfacade_watch_terminations_total", "Watches ended by the facade, by reason.", "reason")
	m.watchEvents = counter("listfacade_watch_events_total", "Events sent to watchers, bookmarks included.", "resource")
	m.registry.MustRegister(m.requests, m.durations, m.bytes, m.relists, m.reconnects, m.questions, m.terminated, m.watchEvents,
		newLaneCollector(lanes), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Request is one answered request. Resource is empty, or a resource that the upstream serves.
type Request struct {
	Verb, Group, Version, Resource string
	Source                         string // cache, upstream or facade
	Code                           int
	Bytes                          int64
	Took                           time.Duration
}

// Answered counts a request.
func (m *Metrics) Answered(r Request) {
	m.requests.WithLabelValues(r.Verb, r.Group, r.Version, r.Resource, strconv.Itoa(r.Code), r.Source).Inc()
	m.bytes.WithLabelValues(r.Verb, r.Source).Add(float64(r.Bytes))
	if r.Verb != "watch" {
		m.durations.WithLabelValues(r.Verb, r.Source).Observe(r.Took.Seconds())
	}
}

// Relisted counts a lane that lost the upstream's window.
func (m *Metrics) Relisted(resource string) { m.relists.WithLabelValues(resource).Inc() }

// Reconnected counts a lane's watch that was resumed.
func (m *Metrics) Reconnected(resource string) { m.reconnects.WithLabelValues(resource).Inc() }

// Questioned counts a question that proves the cache fresh.
func (m *Metrics) Questioned(kind string) { m.questions.WithLabelValues(kind).Inc() }

// Terminated counts a watch that the facade ended.
func (m *Metrics) Terminated(reason string) { m.terminated.WithLabelValues(reason).Inc() }

// Sent counts events sent to a watcher.
func (m *Metrics) Sent(resource string, events int) {
	m.watchEvents.WithLabelValues(resource).Add(float64(events))
}
