package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// accessMetrics count authentications, authorization decisions and reviews. Users are not labels, because their number
// is not bounded.
type accessMetrics struct {
	attempts     *prometheus.CounterVec
	tokens       *prometheus.CounterVec
	decisions    *prometheus.CounterVec
	reviews      *prometheus.HistogramVec
	terminations *prometheus.CounterVec
	changes      *prometheus.CounterVec
	shared       prometheus.Gauge
}

func newAccessMetrics() accessMetrics {
	return accessMetrics{
		attempts: counter("authentication_attempts_total",
			"Authentications of requests, by result.", "result"),
		tokens: counter("accepted_tokens_total",
			"Requests with an accepted bearer token, by whether a review or the facade's own verification accepted it.", "by"),
		decisions: counter("authorization_decisions_total",
			"Authorizations of requests, by decision and source of the decision.", "decision"),
		reviews: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "listfacade_review_duration_seconds",
			Help:    "Duration of TokenReview and SubjectAccessReview calls in seconds, by kind and outcome.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 3, 10),
		}, []string{"review", "result"}),
		terminations: counter("watch_terminations_total",
			"Watches that ended because their authorization ended, by the reason.", "reason"),
		changes: counter("rights_changes_total",
			"Changes of RBAC objects that caused reviews, by whether permissions were lost or gained.", "change"),
		shared: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "listfacade_decisions_shared",
			Help: "1 while all tokens of a service account share authorization decisions (--authorization-extras), 0 otherwise.",
		}),
	}
}

func (m accessMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.attempts, m.tokens, m.decisions, m.reviews, m.terminations, m.changes, m.shared}
}

// Attempted counts an authentication by its result.
func (m *Metrics) Attempted(result string) { m.access.attempts.WithLabelValues(result).Inc() }

// TokenAccepted counts a request whose bearer token was accepted by the given means: review or verification.
func (m *Metrics) TokenAccepted(by string) { m.access.tokens.WithLabelValues(by).Inc() }

// Decided counts an authorization by its decision.
func (m *Metrics) Decided(decision string) { m.access.decisions.WithLabelValues(decision).Inc() }

// Reviewed counts a review that was sent to the upstream.
func (m *Metrics) Reviewed(review, result string, took time.Duration) {
	m.access.reviews.WithLabelValues(review, result).Observe(took.Seconds())
}

// RightsChanged counts a change of roles or bindings that caused reviews.
func (m *Metrics) RightsChanged(change string) { m.access.changes.WithLabelValues(change).Inc() }

// DecisionsShared sets whether the tokens of a service account share decisions. state is 1 if they share decisions,
// else 0.
func (m *Metrics) DecisionsShared(state float64) { m.access.shared.Set(state) }

// Terminated counts a watch authorization that ended before its watch.
func (m *Metrics) Terminated(reason string) { m.access.terminations.WithLabelValues(reason).Inc() }
