package observe

import (
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// watchMetrics count what watches that the cache answers are sent, while they are open.
type watchMetrics struct {
	events, sizes *prometheus.Desc         // apiserver_watch_events_total, apiserver_watch_events_sizes
	listed        *prometheus.HistogramVec // apiserver_watch_list_duration_seconds

	mu     sync.Mutex // guards series
	series map[watchedKey]*watchSeries
}

type watchedKey struct{ group, version, resource string }

// The buckets of sizes are 1, 2, 4 ... 128 KiB and what is larger.
const (
	smallestEvent = 10 // the binary logarithm of the first
	sizeBuckets   = 8
)

// watchSeries are the events of all watches on a resource. They are counted by hand, since thousands may be sent at a
// time: a watch adds once for all that it sends together.
type watchSeries struct {
	counts [sizeBuckets + 1]atomic.Uint64 // by size, the last of what has no bucket
	bytes  atomic.Uint64
}

func newWatchMetrics() *watchMetrics {
	labels := []string{"group", "version", "resource"}
	return &watchMetrics{
		events: prometheus.NewDesc("apiserver_watch_events_total", "Events that watches were sent from the cache, bookmarks included.", labels, nil),
		sizes:  prometheus.NewDesc("apiserver_watch_events_sizes", "Bytes of these events, before compression.", labels, nil),
		listed: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "apiserver_watch_list_duration_seconds", Help: "Time until a streaming list had its initial events.",
			Buckets: append(durationBuckets[2:len(durationBuckets):len(durationBuckets)], 90, 120, 180, 300),
		}, append(labels, "scope")),
		series: map[watchedKey]*watchSeries{},
	}
}

// of are the series of a resource that discovery named.
func (w *watchMetrics) of(e *Event) *watchSeries {
	key := watchedKey{e.Group, e.Version, e.Resource}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.series[key]
	if s == nil {
		s = new(watchSeries)
		w.series[watchedKey{strings.Clone(key.group), strings.Clone(key.version), strings.Clone(key.resource)}] = s
	}
	return s
}

// Describe implements prometheus.Collector.
func (w *watchMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- w.events
	out <- w.sizes
}

// Collect implements prometheus.Collector.
func (w *watchMetrics) Collect(out chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, s := range w.series {
		buckets, count := make(map[float64]uint64, sizeBuckets), uint64(0)
		for i := range s.counts {
			count += s.counts[i].Load()
			if i < sizeBuckets {
				buckets[float64(int(1)<<(smallestEvent+i))] = count
			}
		}
		out <- prometheus.MustNewConstMetric(w.events, prometheus.CounterValue, float64(count), key.group, key.version, key.resource)
		out <- prometheus.MustNewConstHistogram(w.sizes, count, float64(s.bytes.Load()), buckets, key.group, key.version, key.resource)
	}
}

// WatchMeter counts what one watch sends. A nil one counts nothing. Used by one goroutine.
type WatchMeter struct {
	series *watchSeries
	listed prometheus.Observer
	began  time.Time
	ended  bool // the initial events did, and it was not counted yet
	any    bool
	counts [sizeBuckets + 1]uint32 // which are not in the series yet
	bytes  uint64
}

// Watch is for a watch that the cache answers.
func (m *Metrics) Watch(e *Event) *WatchMeter {
	if !e.Discovered {
		return nil
	}
	return &WatchMeter{
		series: m.watches.of(e), listed: m.watches.listed.WithLabelValues(e.Group, e.Version, e.Resource, scopeLabel(e)), began: e.Began,
	}
}

// Add adds events that have so many bytes together, about the same each.
func (w *WatchMeter) Add(events, bytes int) {
	if w == nil || events <= 0 {
		return
	}
	w.any = true
	w.counts[sizeBucket(bytes/events)] += uint32(events)
	w.bytes += uint64(bytes)
}

// sizeBucket is the first bucket that an event is not too large for.
func sizeBucket(bytes int) int {
	return min(bits.Len(uint(max(bytes, 1)-1)>>smallestEvent), sizeBuckets)
}

// InitialEnd adds that the initial events are over.
func (w *WatchMeter) InitialEnd() {
	if w != nil {
		w.ended = true
	}
}

// Sent counts what was added: it is with the client now.
func (w *WatchMeter) Sent() {
	if w == nil || !w.any {
		return
	}
	for i, n := range w.counts {
		if n > 0 {
			w.series.counts[i].Add(uint64(n))
		}
	}
	w.series.bytes.Add(w.bytes)
	w.any, w.counts, w.bytes = false, [sizeBuckets + 1]uint32{}, 0
	if w.ended {
		w.ended = false
		w.listed.Observe(time.Since(w.began).Seconds())
	}
}
