package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// SplitTarget is the health of a server to which the splitting proxy sends requests.
type SplitTarget struct {
	Target string // kube-apiserver or facade
	Host   string
	Ready  bool
}

// Split contains all metrics of one splitting proxy in its own registry. Safe for concurrent use.
type Split struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	inFlight *prometheus.GaugeVec
	failures *prometheus.CounterVec
	fallback *prometheus.CounterVec
	refused  *prometheus.CounterVec
}

// NewSplit creates and registers the metrics. Each scrape calls targets and certificates.
func NewSplit(targets func() []SplitTarget, certificates CertificateSource) *Split {
	m := &Split{
		registry: prometheus.NewRegistry(),
		requests: counter("split_requests_total",
			"Requests by the target that the rules select and the reason. The proxy sends reasons read and document to a facade, and answers health and malformed itself. It sends all other reasons to kube-apiserver.",
			"target", "reason"),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "listfacade", Name: "split_requests_in_flight",
			Help: "Requests in flight by selected target and kind: request, watch or upgrade."}, []string{"target", "kind"}),
		failures: counter("split_target_failures_total", "Requests that failed at a target. A read that no facade received is sent again, and may be counted twice.", "target"),
		fallback: counter("split_fallback_requests_total",
			"Reads that were sent to kube-apiserver because no facade was ready, by kind: request or watch.", "kind"),
		refused: counter("split_refused_requests_total",
			"Requests that the proxy refused, by reason. While no facade is ready: large (a read whose answer may be large) or busy (a limit of --fallback-requests or --fallback-watches is reached). Always: certificate (a client certificate without a token).",
			"reason"),
	}
	m.registry.MustRegister(m.requests, m.inFlight, m.failures, m.fallback, m.refused, splitTargets{targets},
		newCertificateCollector(certificates), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, target := range []string{"kube-apiserver", "facade"} {
		m.failures.WithLabelValues(target)
	}
	for _, kind := range []string{"request", "watch"} {
		m.fallback.WithLabelValues(kind)
	}
	for _, reason := range []string{"large", "busy", "certificate"} {
		m.refused.WithLabelValues(reason)
	}
	return m
}

// Request counts a request. The caller must call done when the request has ended. The labels must come from closed
// sets.
func (m *Split) Request(target, reason, kind string) (done func()) {
	m.requests.WithLabelValues(target, reason).Inc()
	inFlight := m.inFlight.WithLabelValues(target, kind)
	inFlight.Inc()
	return inFlight.Dec
}

// Failed counts a request that a target did not answer.
func (m *Split) Failed(target string) { m.failures.WithLabelValues(target).Inc() }

// FellBack counts a read that is sent to kube-apiserver because no facade is ready.
func (m *Split) FellBack(kind string) { m.fallback.WithLabelValues(kind).Inc() }

// Refused counts a request that the proxy refuses.
func (m *Split) Refused(reason string) { m.refused.WithLabelValues(reason).Inc() }

// Describe sends the descriptions of all metrics.
func (m *Split) Describe(out chan<- *prometheus.Desc) { m.registry.Describe(out) }

// Handler serves the metrics in Prometheus' text format.
func (m *Split) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

type splitTargets struct{ read func() []SplitTarget }

var splitReady = prometheus.NewDesc("listfacade_split_target_ready",
	"1 if a target is ready, else 0.", []string{"target", "host"}, nil)

func (c splitTargets) Describe(out chan<- *prometheus.Desc) { out <- splitReady }

func (c splitTargets) Collect(out chan<- prometheus.Metric) {
	for _, target := range c.read() {
		value := 0.0
		if target.Ready {
			value = 1
		}
		out <- prometheus.MustNewConstMetric(splitReady, prometheus.GaugeValue, value, target.Target, target.Host)
	}
}
