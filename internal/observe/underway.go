package observe

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// underway counts requests that are not over.
type underway struct {
	long               *prometheus.GaugeVec // apiserver_longrunning_requests
	readOnly, mutating peak
	inflight           *prometheus.Desc
}

func newUnderway() *underway {
	return &underway{
		long: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "apiserver_longrunning_requests", Help: "Watches, logs and connections that are open.", ConstLabels: ours,
		}, []string{"verb", "group", "version", "resource", "subresource", "scope"}),
		inflight: prometheus.NewDesc("apiserver_current_inflight_requests",
			"The most requests that were under way at a time in the last second, but for those that run long.", []string{"request_kind"}, nil),
	}
}

// runsLong tells what kube-apiserver counts apart from other requests.
func runsLong(e *Event) bool {
	return e.Verb == readWatch || e.Verb == "proxy" || connects(e.Subresource)
}

// of is the peak that a request counts in.
func (u *underway) of(e *Event) *peak {
	switch e.Verb {
	case readGet, readList, "":
		return &u.readOnly
	}
	return &u.mutating
}

// gauge is the gauge that a request counts in which runs long.
func (u *underway) gauge(e *Event) prometheus.Gauge {
	k := keyOf(e)
	return u.long.WithLabelValues(k.verb, k.group, k.version, k.resource, k.subresource, k.scope)
}

// Entered counts a request in that was let in. Its Event says by now what it is about.
func (m *Metrics) Entered(e *Event) {
	if runsLong(e) {
		m.underway.gauge(e).Inc()
		return
	}
	m.underway.of(e).enter(time.Now())
}

// Left counts a request out that Entered had counted in.
func (m *Metrics) Left(e *Event) {
	if runsLong(e) {
		m.underway.gauge(e).Dec()
		return
	}
	m.underway.of(e).now.Add(-1)
}

// Describe implements prometheus.Collector.
func (u *underway) Describe(out chan<- *prometheus.Desc) { out <- u.inflight }

// Collect implements prometheus.Collector.
func (u *underway) Collect(out chan<- prometheus.Metric) {
	for kind, p := range map[string]*peak{"readOnly": &u.readOnly, "mutating": &u.mutating} {
		out <- prometheus.MustNewConstMetric(u.inflight, prometheus.GaugeValue, float64(p.most(time.Now())), kind)
	}
}

// peak is a number that goes up and down, and the most that it was in a second.
type peak struct {
	now  atomic.Int64
	best atomic.Uint64 // the second, of its Unix time the lower half, above the number
}

func (p *peak) enter(at time.Time) {
	n, second := uint64(uint32(p.now.Add(1))), uint64(uint32(at.Unix()))
	for {
		best := p.best.Load()
		if best>>32 == second && best&(1<<32-1) >= n || p.best.CompareAndSwap(best, second<<32|n) {
			return
		}
	}
}

// most is the most of the second that a moment lies in, or of the one before.
func (p *peak) most(at time.Time) int64 {
	now, best := p.now.Load(), p.best.Load()
	if age := uint32(at.Unix()) - uint32(best>>32); age > 1 {
		return now
	}
	return max(now, int64(best&(1<<32-1)))
}
