package observe

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// healthMetrics are what /metrics/slis has, as every component of Kubernetes does: what each check of health said when
// a probe last asked (KEP-3466).
type healthMetrics struct {
	registry *prometheus.Registry
	last     *prometheus.GaugeVec
	results  *prometheus.CounterVec
}

func newHealthMetrics() healthMetrics {
	h := healthMetrics{
		registry: prometheus.NewRegistry(),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kubernetes_healthcheck", Help: "1 when a check of health held as a probe last asked.",
		}, []string{"name", "type"}),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubernetes_healthchecks_total", Help: "Results of checks of health, by probe.",
		}, []string{"name", "type", "status"}),
	}
	h.registry.MustRegister(h.last, h.results)
	return h
}

// SLIs serves the results of health checks in Prometheus' text format.
func (m *Metrics) SLIs() http.Handler {
	return promhttp.HandlerFor(m.health.registry, promhttp.HandlerOpts{})
}

// Checked notes what a check of health said to a probe, of healthz, livez and readyz.
func (m *Metrics) Checked(check, probe string, err error) {
	value, status := 1.0, "success"
	if err != nil {
		value, status = 0, "error"
	}
	m.health.last.WithLabelValues(check, probe).Set(value)
	m.health.results.WithLabelValues(check, probe, status).Inc()
}
