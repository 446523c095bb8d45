package facade

import (
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/oplog"
)

// laneMetrics sends lane events to the metrics and to the history of the operator's page.
type laneMetrics struct {
	*metrics.Metrics
	history *oplog.History
}

// Relisted implements reflector.Metrics.
func (m laneMetrics) Relisted(group, resource string) {
	m.Metrics.Relisted(group, resource)
	m.history.Relisted(group, resource)
}

// auditMetrics sends audit events to the metrics and to the history of the operator's page.
type auditMetrics struct {
	*metrics.Metrics
	history *oplog.History
}

// AuditErrors implements audit.Metrics.
func (m auditMetrics) AuditErrors(plugin string, events int) {
	m.Metrics.AuditErrors(plugin, events)
	m.history.AuditLost(events)
}
