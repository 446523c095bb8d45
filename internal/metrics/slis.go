package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// healthMetrics are the metrics of /metrics/slis: the last result of each health check, as for every component of
// Kubernetes (KEP-3466).
type healthMetrics struct {
	registry *prometheus.Registry
	last     *prometheus.GaugeVec
	results  *prometheus.CounterVec
}

func newHealthMetrics() healthMetrics {
	h := healthMetrics{
		registry: prometheus.NewRegistry(),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kubernetes_healthcheck", Help: "1 if a health check succeeded at the last probe, else 0, by check and probe.",
		}, []string{"name", "type"}),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubernetes_healthchecks_total",
			Help: "Results of health checks, by check, probe and status: success or error.",
		}, []string{"name", "type", "status"}),
	}
	h.registry.MustRegister(h.last, h.results)
	return h
}

// SLIs serves the results of health checks in Prometheus' text format.
func (m *Metrics) SLIs() http.Handler {
	return promhttp.HandlerFor(m.health.registry, promhttp.HandlerOpts{})
}

// Checked records the result of a health check for a probe: healthz, livez or readyz.
func (m *Metrics) Checked(check, probe string, err error) {
	value, status := 1.0, "success"
	if err != nil {
		value, status = 0, "error"
	}
	m.health.last.WithLabelValues(check, probe).Set(value)
	m.health.results.WithLabelValues(check, probe, status).Inc()
}
