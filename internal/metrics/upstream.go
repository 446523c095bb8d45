package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// upstreamMetrics count the requests to the upstream. There are few such requests, so upstreamMetrics keeps no
// references to series, and looks them up for each request.
type upstreamMetrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newUpstreamMetrics() upstreamMetrics {
	return upstreamMetrics{
		requests: counter("upstream_requests_total",
			"Requests to the upstream, by kind of request and status code. Code 0 means that there was no response.", "request", "code"),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "listfacade_upstream_request_duration_seconds",
			Help:    "Time in seconds until the upstream began to answer, by kind of request.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 17),
		}, []string{"request"}),
	}
}

func (u upstreamMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{u.requests, u.durations}
}

// Asked counts a request to the upstream. The code is 0 if there was no response.
func (m *Metrics) Asked(request string, code int, took time.Duration) {
	if http.StatusText(code) == "" {
		code = 0
	}
	m.caused.asked(request)
	m.upstream.requests.WithLabelValues(request, codeLabel(code)).Inc()
	m.upstream.durations.WithLabelValues(request).Observe(took.Seconds())
}
