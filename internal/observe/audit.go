package observe

import "github.com/prometheus/client_golang/prometheus"

// auditMetrics count what becomes of the audit log, under kube-apiserver's names.
type auditMetrics struct {
	events   prometheus.Counter
	levels   *prometheus.CounterVec
	errors   *prometheus.CounterVec
	rejected prometheus.Counter
	none     prometheus.Counter // of levels, which most requests have
}

func newAuditMetrics() auditMetrics {
	name := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "apiserver", Subsystem: "audit", Name: name, Help: help}
	}
	m := auditMetrics{
		events:   prometheus.NewCounter(name("event_total", "Events that were made for the audit log.")),
		levels:   prometheus.NewCounterVec(name("level_total", "Requests by the level of the audit policy's rule for them."), []string{"level"}),
		errors:   prometheus.NewCounterVec(name("error_total", "Events that are not in the audit log: buffered, that there was no room for; log, that could not be written."), []string{"plugin"}),
		rejected: prometheus.NewCounter(name("requests_rejected_total", "Requests that were refused because they could not be written into the audit log.")),
	}
	m.none = m.levels.WithLabelValues("None")
	return m
}

func (m auditMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.events, m.levels, m.errors, m.rejected}
}

// AuditEvent counts an event that was made for the audit log.
func (m *Metrics) AuditEvent() { m.audit.events.Inc() }

// AuditLevel counts a request by what of it is written; empty is nothing.
func (m *Metrics) AuditLevel(level string) {
	if level == "" {
		m.audit.none.Inc()
		return
	}
	m.audit.levels.WithLabelValues(level).Inc()
}

// AuditErrors counts events that are not in the audit log, by what lost them.
func (m *Metrics) AuditErrors(plugin string, events int) {
	m.audit.errors.WithLabelValues(plugin).Add(float64(events))
}

// AuditRejected counts a request that was refused because it could not be written down.
func (m *Metrics) AuditRejected() { m.audit.rejected.Inc() }

// AuditBacklog is what waits to be written into the audit log.
type AuditBacklog struct {
	Lines int
	Bytes int64 // of memory
}

// AuditSource tells the backlog of the moment; ok is false where there is no audit log.
type AuditSource func() (now AuditBacklog, ok bool)

type auditCollector struct {
	read         AuditSource
	lines, bytes *prometheus.Desc
}

func newAuditCollector(read AuditSource) *auditCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("listfacade_audit_waiting_"+name, help, nil, nil)
	}
	return &auditCollector{
		read:  read,
		lines: desc("lines", "Lines that wait to be written into the audit log; what comes when 10,000 do is dropped."),
		bytes: desc("bytes", "Bytes of memory that these lines take; what comes beyond 32 MiB is dropped."),
	}
}

// Describe implements prometheus.Collector.
func (c *auditCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.lines
	out <- c.bytes
}

// Collect implements prometheus.Collector.
func (c *auditCollector) Collect(out chan<- prometheus.Metric) {
	if now, ok := c.read(); ok {
		out <- prometheus.MustNewConstMetric(c.lines, prometheus.GaugeValue, float64(now.Lines))
		out <- prometheus.MustNewConstMetric(c.bytes, prometheus.GaugeValue, float64(now.Bytes))
	}
}
