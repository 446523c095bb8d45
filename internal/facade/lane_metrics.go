package facade

import (
	"github.com/listfacade/listfacade/internal/observe"
)

// laneMetrics are the metrics of lanes, and what the operator's page remembers of them.
type laneMetrics struct {
	*observe.Metrics
	history *observe.History
}

// Relisted implements reflector.Metrics.
func (m laneMetrics) Relisted(group, resource string) {
	m.Metrics.Relisted(group, resource)
	m.history.Relisted(group, resource)
}

// auditMetrics are the metrics of the audit log, and what the operator's page remembers of it.
type auditMetrics struct {
	*observe.Metrics
	history *observe.History
}

// AuditErrors implements audit.Metrics.
func (m auditMetrics) AuditErrors(plugin string, events int) {
	m.Metrics.AuditErrors(plugin, events)
	m.history.AuditLost(events)
}
