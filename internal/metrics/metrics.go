package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/listfacade/listfacade/internal/observe"
)

// Metrics contains all metrics of one facade in its own registry. Safe for concurrent use.
type Metrics struct {
	observe.Ignore
	registry       *prometheus.Registry
	health         healthMetrics
	requests       *requestMetrics
	underway       *underway
	watches        *watchMetrics
	reads          readMetrics
	upstream       upstreamMetrics
	relists        *prometheus.CounterVec
	contradictions *prometheus.CounterVec
	reconnects     *prometheus.CounterVec
	questions      *prometheus.CounterVec
	fills          *prometheus.CounterVec
	lostWindows    *prometheus.CounterVec
	olderWatches   *prometheus.CounterVec
	access         accessMetrics
	audit          auditMetrics
	selfAudit      selfAuditMetrics
	journal        journalMetrics
	ofLanes        *laneSeries
	savedReads     savedReads
	caused         causedWork
	saved          *savedCollector
}

// Sources are the functions that each scrape calls. Metrics of a nil source are not registered.
type Sources struct {
	Lanes         LaneSource
	Precompressed PrecompressedSource
	Memory        MemorySource
	Certificates  CertificateSource
	Endpoints     EndpointSource
	Audit         AuditSource
	Reviews       ReviewSource
	Journal       JournalSource
	// SelfAudit is the value of --self-audit-interval. 0 omits the gauges of the self-audit, but not its counters.
	SelfAudit time.Duration
}

// New creates and registers the metrics.
func New(sources Sources) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), health: newHealthMetrics(), requests: newRequestMetrics(),
		underway: newUnderway(),
		watches:  newWatchMetrics(), reads: newReadMetrics(), upstream: newUpstreamMetrics(), access: newAccessMetrics(),
	}
	m.relists = counter("upstream_relists_total",
		"Times that the facade listed a lane again instead of resuming the lane's watch. The log has the cause."+laneHelp,
		"group", "resource")
	m.contradictions = counter("upstream_contradictions_total",
		"Times that the objects of a lane differed from the upstream's at the same resourceVersion."+laneHelp, "group", "resource")
	m.reconnects = counter("upstream_reconnects_total",
		"Times that a lane's watch of the upstream ended, so that the lane opens another one."+laneHelp,
		"group", "resource")
	m.questions = counter("upstream_questions_total",
		"Requests to the upstream for freshness checks, by kind: probe, roll-call, progress-watch, or definition for reads of a CustomResourceDefinition.", "kind")
	m.lostWindows = counter("lost_windows_total",
		"Lists that replaced the objects of a lane whose watch was not resumed, for example because the upstream no longer had its next events, by outcome. Outcome replayed: the watches received the differences. Any other outcome is the reason why the watches ended."+laneHelp,
		"group", "resource", "outcome")
	m.olderWatches = counter("older_watches_total",
		"Watches from a resourceVersion before the history of a lane (the cache of one resource in one encoding), by outcome: continued with events of the upstream, expired because the upstream no longer had the events, or failed.",
		"group", "resource", "outcome")
	m.fills = counter("lane_fills_total",
		"Times that a lane was filled, by the source of its list: upstream, peer or journal."+laneHelp, "source")
	m.audit, m.selfAudit, m.journal = newAuditMetrics(), newSelfAuditMetrics(), newJournalMetrics()
	m.ofLanes = newLaneSeries(m.selfAudit.byLane(),
		[]*prometheus.CounterVec{m.relists, m.contradictions, m.reconnects, m.lostWindows, m.olderWatches})
	for _, some := range [][]prometheus.Collector{
		m.requests.all(), m.reads.all(), m.upstream.all(), m.access.all(), m.audit.all(), m.selfAudit.all(),
		{m.journal.holes, m.journal.errors, m.underway, m.underway.long, m.watches, m.watches.listed},
	} {
		m.registry.MustRegister(some...)
	}
	m.registry.MustRegister(m.relists, m.contradictions, m.reconnects, m.questions, m.fills, m.lostWindows, m.olderWatches,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.begin()
	m.saved = newSavedCollector(&m.savedReads, m.watches, &m.caused, sources.Lanes)
	m.registry.MustRegister(m.saved)
	sources.Lanes = m.counted(sources.Lanes)
	sources.register(m.registry)
	return m
}

// begin creates counters whose labels are known, with the value 0. Otherwise rate() and increase() would miss the first
// event.
func (m *Metrics) begin() {
	for _, kind := range []string{"probe", "roll-call", "progress-watch", "definition"} {
		m.questions.WithLabelValues(kind)
	}
	for _, result := range []string{"same", "different", "doubtful", "unsure", "failed"} {
		m.selfAudit.pages.WithLabelValues(result)
	}
	for _, source := range []string{"upstream", "peer", "journal"} {
		m.fills.WithLabelValues(source)
	}
	for _, plugin := range []string{"buffered", "log"} {
		m.audit.errors.WithLabelValues(plugin)
	}
}

// counted returns a source that also creates the counters of each lane at 0, and deletes the counters of ended lanes.
func (m *Metrics) counted(lanes LaneSource) LaneSource {
	if lanes == nil {
		return nil
	}
	return func() []LaneStats {
		all := lanes()
		m.ofLanes.end(all)
		for _, lane := range all {
			m.selfAudit.begin(lane)
			for _, counter := range []*prometheus.CounterVec{m.relists, m.contradictions, m.reconnects} {
				counter.WithLabelValues(lane.Group, lane.Resource)
			}
		}
		return all
	}
}

// Describe implements prometheus.Collector for the metrics of /metrics and /metrics/slis.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	m.registry.Describe(out)
	m.health.registry.Describe(out)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.registry.Collect(out)
	m.health.registry.Collect(out)
}

func (s Sources) register(in *prometheus.Registry) {
	if s.Lanes != nil {
		in.MustRegister(newLaneCollector(s.Lanes), newWatchCacheCollector(s.Lanes))
	}
	if s.Lanes != nil && s.SelfAudit > 0 {
		in.MustRegister(newSelfAuditCollector(s.Lanes, s.SelfAudit))
	}
	if s.Precompressed != nil {
		in.MustRegister(newPrecompressedCollector(s.Precompressed))
	}
	if s.Memory != nil {
		in.MustRegister(newMemoryCollector(s.Memory))
	}
	if s.Endpoints != nil {
		in.MustRegister(newEndpointCollector(s.Endpoints))
	}
	if s.Certificates != nil {
		in.MustRegister(newCertificateCollector(s.Certificates))
	}
	if s.Audit != nil {
		in.MustRegister(newAuditCollector(s.Audit))
	}
	if s.Journal != nil {
		in.MustRegister(newJournalCollector(s.Journal))
	}
	if s.Reviews != nil {
		in.MustRegister(newReviewCollector(s.Reviews))
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "listfacade", Name: name, Help: help}, labels)
}

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// ExposeSLI adds the histogram of kube-apiserver's service level objectives. Call it before the first request.
func (m *Metrics) ExposeSLI() {
	m.requests.sli = newSLI()
	m.registry.MustRegister(m.requests.sli)
}

// Done implements Observer.
func (m *Metrics) Done(e *observe.Event) {
	m.left(e)
	m.requests.done(e)
	m.reads.done(e)
	m.savedReads.done(e)
}

// Contradicted counts a lane whose objects differed from the upstream's at the same resourceVersion.
func (m *Metrics) Contradicted(group, resource string) {
	m.ofLanes.countsResource(groupResource{group, resource})
	m.contradictions.WithLabelValues(group, resource).Inc()
}

// Relisted counts a lane that the facade lists again instead of resuming the lane's watch.
func (m *Metrics) Relisted(group, resource string) {
	m.ofLanes.countsResource(groupResource{group, resource})
	m.relists.WithLabelValues(group, resource).Inc()
}

// Reconnected counts a lane's watch of the upstream that was resumed.
func (m *Metrics) Reconnected(group, resource string) {
	m.ofLanes.countsResource(groupResource{group, resource})
	m.reconnects.WithLabelValues(group, resource).Inc()
}

// Filled counts a lane that was filled, by the source of its list.
func (m *Metrics) Filled(source string) { m.fills.WithLabelValues(source).Inc() }

// LostWindow counts a lost window of a lane by its outcome.
func (m *Metrics) LostWindow(group, resource, outcome string) {
	m.ofLanes.countsResource(groupResource{group, resource})
	m.lostWindows.WithLabelValues(group, resource, outcome).Inc()
}

// BroughtForward counts a client's watch from a resourceVersion before a lane's history, by outcome.
func (m *Metrics) BroughtForward(group, resource, outcome string) {
	m.ofLanes.countsResource(groupResource{group, resource})
	m.olderWatches.WithLabelValues(group, resource, outcome).Inc()
}

// Questioned counts a request to the upstream for a freshness check, by kind.
func (m *Metrics) Questioned(kind string) { m.questions.WithLabelValues(kind).Inc() }
