package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type selfAuditMetrics struct {
	objects, passes, pages, differences, relists *prometheus.CounterVec
}

func newSelfAuditMetrics() selfAuditMetrics {
	const group, version, resource, encoding = "group", "version", "resource", "encoding"
	return selfAuditMetrics{
		objects: counter("self_audit_objects_total",
			"Objects of a lane that the self-audit compared with the upstream."+laneHelp,
			group, version, resource, encoding),
		passes: counter("self_audit_passes_total",
			"Times that the self-audit compared all objects of a lane with the upstream."+laneHelp, group, version, resource, encoding),
		pages: counter("self_audit_pages_total",
			"Pages of objects that the self-audit compared, by result: same, different, doubtful (compared again), unsure (changed meanwhile) or failed.", "result"),
		differences: counter("self_audit_differences_total",
			"Objects of a lane that differ from the upstream, by the kind of difference: missing, surplus, version (another resourceVersion) or content."+laneHelp, group, version, resource, encoding, "kind"),
		relists: counter("self_audit_relists_total",
			"Times that a lane was listed again because the self-audit found differences."+laneHelp, group, version, resource, encoding),
	}
}

func (m selfAuditMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.objects, m.passes, m.pages, m.differences, m.relists}
}

func (m selfAuditMetrics) byLane() []*prometheus.CounterVec {
	return []*prometheus.CounterVec{m.objects, m.passes, m.differences, m.relists}
}

// begin creates the counters of a lane at 0. Otherwise rate() and increase() would miss the first difference.
func (m selfAuditMetrics) begin(lane LaneStats) {
	for _, kind := range []string{"missing", "surplus", "version", "content"} {
		m.differences.WithLabelValues(lane.Group, lane.Version, lane.Resource, lane.Encoding, kind)
	}
	for _, counter := range []*prometheus.CounterVec{m.passes, m.objects, m.relists} {
		counter.WithLabelValues(lane.Group, lane.Version, lane.Resource, lane.Encoding)
	}
}

// SelfAudited counts a page that was compared, by result, and its objects.
func (m *Metrics) SelfAudited(gvr schema.GroupVersionResource, encoding, result string, objects int) {
	m.selfAudit.pages.WithLabelValues(result).Inc()
	m.caused.audited.Add(uint64(max(objects, 0)))
	m.ofLanes.countsLane(labelsOf(gvr, encoding))
	m.selfAudit.objects.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, encoding).Add(float64(objects))
}

// SelfAuditPassed counts a lane whose objects were all compared.
func (m *Metrics) SelfAuditPassed(gvr schema.GroupVersionResource, encoding string) {
	m.ofLanes.countsLane(labelsOf(gvr, encoding))
	m.selfAudit.passes.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, encoding).Inc()
}

// SelfAuditDiffered counts an object of a lane that differs from the upstream's object, by the kind of difference.
func (m *Metrics) SelfAuditDiffered(gvr schema.GroupVersionResource, encoding, kind string) {
	m.ofLanes.countsLane(labelsOf(gvr, encoding))
	m.selfAudit.differences.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, encoding, kind).Inc()
}

// SelfAuditRelisted counts a lane that is listed again because of differences.
func (m *Metrics) SelfAuditRelisted(gvr schema.GroupVersionResource, encoding string) {
	m.ofLanes.countsLane(labelsOf(gvr, encoding))
	m.selfAudit.relists.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, encoding).Inc()
}

func labelsOf(gvr schema.GroupVersionResource, encoding string) laneLabels {
	return laneLabels{gvr.Group, gvr.Version, gvr.Resource, encoding}
}

type selfAuditCollector struct {
	lanes                   LaneSource
	every                   time.Duration
	age, differing, between *prometheus.Desc
}

func newSelfAuditCollector(lanes LaneSource, every time.Duration) *selfAuditCollector {
	lane := []string{"group", "version", "resource", "encoding"}
	return &selfAuditCollector{
		lanes: lanes, every: every,
		age: prometheus.NewDesc("listfacade_self_audit_age_seconds",
			"Seconds since the self-audit last compared all objects of a lane with the upstream. Before the first comparison, seconds since the lane was created."+laneHelp,
			lane, nil),
		differing: prometheus.NewDesc("listfacade_self_audit_differing_objects",
			"Objects that differed from the upstream in the last comparison, if the lane was not listed again since."+laneHelp, lane, nil),
		between: prometheus.NewDesc("listfacade_self_audit_interval_seconds", "Value of --self-audit-interval in seconds.",
			nil, nil),
	}
}

func (c *selfAuditCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.age
	out <- c.differing
	out <- c.between
}

func (c *selfAuditCollector) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(c.between, prometheus.GaugeValue, c.every.Seconds())
	for _, lane := range c.lanes() {
		gauge := func(desc *prometheus.Desc, value float64) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, lane.Group, lane.Version, lane.Resource,
				lane.Encoding)
		}
		gauge(c.age, lane.AuditAge.Seconds())
		gauge(c.differing, float64(lane.Differing))
	}
}
