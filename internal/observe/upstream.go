package observe

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// upstreamMetrics count what the upstream is asked, and how it answers. The facade's requests are few, so that nothing
// of them is kept at hand.
type upstreamMetrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newUpstreamMetrics() upstreamMetrics {
	return upstreamMetrics{
		requests: counter("upstream_requests_total",
			"Requests to the upstream, by what for and its answer's code; 0 where there was no answer.", "request", "code"),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "listfacade_upstream_request_duration_seconds", Help: "Time until the upstream began to answer, by what it was asked for.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 17),
		}, []string{"request"}),
	}
}

func (u upstreamMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{u.requests, u.durations}
}

// Asked counts a request to the upstream. code is 0 when there was no answer.
func (m *Metrics) Asked(request string, code int, took time.Duration) {
	if http.StatusText(code) == "" {
		code = 0
	}
	m.upstream.requests.WithLabelValues(request, codeLabel(code)).Inc()
	m.upstream.durations.WithLabelValues(request).Observe(took.Seconds())
}
