package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listfacade/listfacade/internal/observe"
)

type underway struct {
	long               *prometheus.GaugeVec // apiserver_longrunning_requests
	readOnly, mutating peak
	inflight           *prometheus.Desc
}

func newUnderway() *underway {
	return &underway{
		long: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "apiserver_longrunning_requests", Help: "Open watches, logs and connections, by verb, resource and scope.",
			ConstLabels: componentLabel,
		}, []string{"verb", "group", "version", "resource", "subresource", "scope"}),
		inflight: prometheus.NewDesc("apiserver_current_inflight_requests",
			"Maximum number of concurrent requests in the last second, without long-running ones, by kind: readOnly or mutating.", []string{"request_kind"}, nil),
	}
}

// runsLong reports whether kube-apiserver counts a request as long-running.
func runsLong(e *observe.Event) bool {
	return e.Verb == readWatch || e.Verb == "proxy" || connects(e.Subresource)
}

func (u *underway) of(e *observe.Event) *peak {
	switch e.Verb {
	case readGet, readList, "":
		return &u.readOnly
	}
	return &u.mutating
}

func (u *underway) gauge(e *observe.Event) prometheus.Gauge {
	k := keyOf(e)
	return u.long.WithLabelValues(k.verb, k.group, k.version, k.resource, k.subresource, k.scope)
}

// Admitted implements Observer. It counts a request as in flight until Done.
func (m *Metrics) Admitted(e *observe.Event) {
	if runsLong(e) {
		m.underway.gauge(e).Inc()
		return
	}
	m.underway.of(e).enter(time.Now())
}

// left ends the count of a request that Admitted counted.
func (m *Metrics) left(e *observe.Event) {
	if !e.Admitted {
		return
	}
	if runsLong(e) {
		m.underway.gauge(e).Dec()
		return
	}
	m.underway.of(e).now.Add(-1)
}

func (u *underway) Describe(out chan<- *prometheus.Desc) { out <- u.inflight }

func (u *underway) Collect(out chan<- prometheus.Metric) {
	for kind, p := range map[string]*peak{"readOnly": &u.readOnly, "mutating": &u.mutating} {
		out <- prometheus.MustNewConstMetric(u.inflight, prometheus.GaugeValue, float64(p.most(time.Now())), kind)
	}
}

// peak is a number of requests in flight, with its maximum in the current second.
type peak struct {
	now  atomic.Int64
	best atomic.Uint64 // upper 32 bits: the second (Unix time), lower 32 bits: the maximum
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

// most returns the maximum of the current second or of the previous one.
func (p *peak) most(at time.Time) int64 {
	now, best := p.now.Load(), p.best.Load()
	if age := uint32(at.Unix()) - uint32(best>>32); age > 1 {
		return now
	}
	return max(now, int64(best&(1<<32-1)))
}
