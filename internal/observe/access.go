package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// accessMetrics count who is let in, and what that costs the upstream. Users are no labels: there may be any number.
type accessMetrics struct {
	attempts     *prometheus.CounterVec
	decisions    *prometheus.CounterVec
	reviews      *prometheus.HistogramVec
	terminations *prometheus.CounterVec
	changes      *prometheus.CounterVec
}

func newAccessMetrics() accessMetrics {
	return accessMetrics{
		attempts:  counter("authentication_attempts_total", "Requests by how it ended to find out who asks.", "result"),
		decisions: counter("authorization_decisions_total", "Requests by whether they were allowed, and how that was known.", "decision"),
		reviews: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "listfacade_review_duration_seconds", Help: "Time that the upstream took for a review, by its kind and what came of it.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 3, 10),
		}, []string{"review", "result"}),
		terminations: counter("watch_terminations_total", "Rights to watches that ended before their watches did, by why.", "reason"),
		changes:      counter("rights_changes_total", "Changes of roles and bindings that were acted on: lost, or gained.", "change"),
	}
}

func (m accessMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.attempts, m.decisions, m.reviews, m.terminations, m.changes}
}

// Attempted counts a request whose caller was looked for.
func (m *Metrics) Attempted(result string) { m.access.attempts.WithLabelValues(result).Inc() }

// Decided counts a request that was authorized, or was not.
func (m *Metrics) Decided(decision string) { m.access.decisions.WithLabelValues(decision).Inc() }

// Reviewed counts a review that was sent.
func (m *Metrics) Reviewed(review, result string, took time.Duration) {
	m.access.reviews.WithLabelValues(review, result).Observe(took.Seconds())
}

// RightsChanged counts a change of roles or bindings that was acted on.
func (m *Metrics) RightsChanged(change string) { m.access.changes.WithLabelValues(change).Inc() }

// Terminated counts a right to a watch that ended.
func (m *Metrics) Terminated(reason string) { m.access.terminations.WithLabelValues(reason).Inc() }
