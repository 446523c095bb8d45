package metrics

import "github.com/prometheus/client_golang/prometheus"

// auditMetrics count the events of the audit log, under kube-apiserver's names.
type auditMetrics struct {
	events   prometheus.Counter
	levels   *prometheus.CounterVec
	errors   *prometheus.CounterVec
	rejected prometheus.Counter
	none     prometheus.Counter
}

func newAuditMetrics() auditMetrics {
	name := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "apiserver", Subsystem: "audit", Name: name, Help: help}
	}
	m := auditMetrics{
		events: prometheus.NewCounter(name("event_total", "Audit events that were generated.")),
		levels: prometheus.NewCounterVec(name("level_total",
			"Requests by the level of the audit policy rule that matches them."), []string{"level"}),
		errors: prometheus.NewCounterVec(name("error_total",
			"Audit events that were lost, by plugin: buffered (the buffer was full) or log (the write failed or came too late)."),
			[]string{"plugin"}),
		rejected: prometheus.NewCounter(name("requests_rejected_total",
			"Requests that were rejected because their audit event could not be written.")),
	}
	m.none = m.levels.WithLabelValues("None")
	return m
}

func (m auditMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.events, m.levels, m.errors, m.rejected}
}

// AuditEvent counts an audit event that was generated.
func (m *Metrics) AuditEvent() { m.audit.events.Inc() }

// AuditLevel counts a request by its audit level. An empty level means None.
func (m *Metrics) AuditLevel(level string) {
	if level == "" {
		m.audit.none.Inc()
		return
	}
	m.audit.levels.WithLabelValues(level).Inc()
}

// AuditErrors counts events that were lost, by the plugin that lost them.
func (m *Metrics) AuditErrors(plugin string, events int) {
	m.audit.errors.WithLabelValues(plugin).Add(float64(events))
}

// AuditRejected counts a request that was rejected because its audit event could not be written.
func (m *Metrics) AuditRejected() { m.audit.rejected.Inc() }

// AuditBacklog is the amount of data that waits to be written to the audit log.
type AuditBacklog struct {
	Lines int
	Bytes int64
}

// AuditSource returns the current backlog. ok is false if there is no audit log.
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
		lines: desc("lines", "Lines not yet written to the audit log. In mode batch, new events are dropped while 10,000 lines wait."),
		bytes: desc("bytes", "Bytes of memory of the audit log's buffer in mode batch. New events are dropped while the buffer has 32 MiB."),
	}
}

func (c *auditCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.lines
	out <- c.bytes
}

func (c *auditCollector) Collect(out chan<- prometheus.Metric) {
	if now, ok := c.read(); ok {
		out <- prometheus.MustNewConstMetric(c.lines, prometheus.GaugeValue, float64(now.Lines))
		out <- prometheus.MustNewConstMetric(c.bytes, prometheus.GaugeValue, float64(now.Bytes))
	}
}
