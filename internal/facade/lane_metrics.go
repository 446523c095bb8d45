package facade

import (
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/oplog"
)

// laneMetrics sends relists to the metrics and to the history of the operator's page.
type laneMetrics struct {
	*metrics.Metrics
	history *oplog.History
}

func (m laneMetrics) Relisted(group, resource string) {
	m.Metrics.Relisted(group, resource)
	m.history.Relisted(group, resource)
}

// auditMetrics sends lost audit events to the metrics and to the history of the operator's page.
type auditMetrics struct {
	*metrics.Metrics
	history *oplog.History
}

func (m auditMetrics) AuditErrors(plugin string, events int) {
	m.Metrics.AuditErrors(plugin, events)
	m.history.AuditLost(events)
}
