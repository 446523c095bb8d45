package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// selfAuditMetrics count what the self-audit finds.
type selfAuditMetrics struct {
	objects, passes, pages, differences, mends *prometheus.CounterVec
}

func newSelfAuditMetrics() selfAuditMetrics {
	const group, version, resource, encoding = "group", "version", "resource", "encoding"
	return selfAuditMetrics{
		objects: counter("self_audit_objects_total", "Objects of lanes that were compared with the upstream's.", group, version, resource, encoding),
		passes:  counter("self_audit_passes_total", "Times that all objects of a lane were compared with the upstream's.", group, version, resource, encoding),
		pages: counter("self_audit_pages_total",
			"Pages of objects that were compared: same, different, doubtful (looked at again), unsure (the upstream or the lane changed meanwhile) or failed.", "result"),
		differences: counter("self_audit_differences_total",
			"Objects of lanes that were not as the upstream has them: missing, surplus, version or content.", group, version, resource, encoding, "kind"),
		mends: counter("self_audit_relists_total", "Times that a lane was listed again because it was not what the upstream has.", group, version, resource, encoding),
	}
}

func (m selfAuditMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.objects, m.passes, m.pages, m.differences, m.mends}
}

// byLane are the counters by lane.
func (m selfAuditMetrics) byLane() []*prometheus.CounterVec {
	return []*prometheus.CounterVec{m.objects, m.passes, m.differences, m.mends}
}

// begin begins what a lane's differences are counted by, so that the first one is a rise.
func (m selfAuditMetrics) begin(lane LaneStats) {
	for _, kind := range []string{"missing", "surplus", "version", "content"} {
		m.differences.WithLabelValues(lane.Group, lane.Version, lane.Resource, lane.Encoding, kind)
	}
	for _, counter := range []*prometheus.CounterVec{m.passes, m.objects, m.mends} {
		counter.WithLabelValues(lane.Group, lane.Version, lane.Resource, lane.Encoding)
	}
}

// SelfAudited counts a page that was compared.
func (m *Metrics) SelfAudited(gvr schema.GroupVersionResource, encoding, result string, objects int) {
	m.selfAudit.pages.WithLabelValues(result).Inc()
	m.ofLanes.countsLane(labelsOf(gvr, encoding))
	m.selfAudit.objects.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, encoding).Add(float64(objects))
}

// SelfAuditPassed counts a lane that was compared from one end to the other.
func (m *Metrics) SelfAuditPassed(gvr schema.GroupVersionResource, encoding string) {
	m.ofLanes.countsLane(labelsOf(gvr, encoding))
	m.selfAudit.passes.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, encoding).Inc()
}

// SelfAuditDiffered counts an object that is not as the upstream has it.
func (m *Metrics) SelfAuditDiffered(gvr schema.GroupVersionResource, encoding, kind string) {
	m.ofLanes.countsLane(labelsOf(gvr, encoding))
	m.selfAudit.differences.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, encoding, kind).Inc()
}

// SelfAuditMended counts a lane that is listed again for that.
func (m *Metrics) SelfAuditMended(gvr schema.GroupVersionResource, encoding string) {
	m.ofLanes.countsLane(labelsOf(gvr, encoding))
	m.selfAudit.mends.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, encoding).Inc()
}

func labelsOf(gvr schema.GroupVersionResource, encoding string) laneLabels {
	return laneLabels{gvr.Group, gvr.Version, gvr.Resource, encoding}
}

// selfAuditCollector tells how old what is known of lanes is, and what of it is wrong.
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
			"Seconds since all objects of a lane had been compared with the upstream's; since the lane was made if they never were.",
			lane, nil),
		differing: prometheus.NewDesc("listfacade_self_audit_differing_objects",
			"Objects that were not as the upstream has them when they were last compared, and that the lane was not listed again for.", lane, nil),
		between: prometheus.NewDesc("listfacade_self_audit_interval_seconds", "Seconds within which each lane is to be compared with the upstream once.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *selfAuditCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.age
	out <- c.differing
	out <- c.between
}

// Collect implements prometheus.Collector.
func (c *selfAuditCollector) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(c.between, prometheus.GaugeValue, c.every.Seconds())
	for _, lane := range c.lanes() {
		gauge := func(desc *prometheus.Desc, value float64) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, lane.Group, lane.Version, lane.Resource, lane.Encoding)
		}
		gauge(c.age, lane.AuditAge.Seconds())
		gauge(c.differing, float64(lane.Differing))
	}
}
