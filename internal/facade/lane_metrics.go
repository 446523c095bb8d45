package facade

import (
	"github.com/listfacade/listfacade/internal/observe"
)

// laneMetrics sends lane events to the metrics and to the history of the operator's page.
type laneMetrics struct {
	*observe.Metrics
	history *observe.History
}

// Relisted implements reflector.Metrics.
func (m laneMetrics) Relisted(group, resource string) {
	m.Metrics.Relisted(group, resource)
	m.history.Relisted(group, resource)
}

// auditMetrics sends audit events to the metrics and to the history of the operator's page.
type auditMetrics struct {
	*observe.Metrics
	history *observe.History
}

// AuditErrors implements audit.Metrics.
func (m auditMetrics) AuditErrors(plugin string, events int) {
	m.Metrics.AuditErrors(plugin, events)
	m.history.AuditLost(events)
}
