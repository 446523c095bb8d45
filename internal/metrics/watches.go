package metrics

import (
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listfacade/listfacade/internal/observe"
)

// watchMetrics count the events of watches that the cache answers.
type watchMetrics struct {
	events, sizes *prometheus.Desc         // apiserver_watch_events_total, apiserver_watch_events_sizes
	listed        *prometheus.HistogramVec // apiserver_watch_list_duration_seconds

	mu     sync.Mutex // guards series
	series map[watchedKey]*watchSeries
}

type watchedKey struct{ group, version, resource string }

// The buckets of sizes are 1, 2, 4 ... 128 KiB, and larger.
const (
	smallestEvent = 10 // binary logarithm of the first bucket's limit in bytes
	sizeBuckets   = 8
)

// watchSeries counts the events of all watches of a resource. It is not a prometheus.Histogram, because a watch adds
// thousands of events with one call.
type watchSeries struct {
	counts [sizeBuckets + 1]atomic.Uint64 // by size; the last count is for larger events
	bytes  atomic.Uint64
}

func newWatchMetrics() *watchMetrics {
	labels := []string{"group", "version", "resource"}
	return &watchMetrics{
		events: prometheus.NewDesc("apiserver_watch_events_total",
			"Events sent to watches from the cache, bookmarks included.", labels, nil),
		sizes: prometheus.NewDesc("apiserver_watch_events_sizes",
			"Size of events sent to watches from the cache in bytes, before compression.", labels, nil),
		listed: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "apiserver_watch_list_duration_seconds",
			Help:    "Time in seconds until a streaming list had sent its initial events.",
			Buckets: append(durationBuckets[2:len(durationBuckets):len(durationBuckets)], 90, 120, 180, 300),
		}, append(labels, "scope")),
		series: map[watchedKey]*watchSeries{},
	}
}

func (w *watchMetrics) of(e *observe.Event) *watchSeries {
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

func (w *watchMetrics) sum() (events, bytes uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.series {
		for i := range s.counts {
			events += s.counts[i].Load()
		}
		bytes += s.bytes.Load()
	}
	return events, bytes
}

func (w *watchMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- w.events
	out <- w.sizes
}

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
		out <- prometheus.MustNewConstMetric(w.events, prometheus.CounterValue, float64(count), key.group, key.version,
			key.resource)
		out <- prometheus.MustNewConstHistogram(w.sizes, count, float64(s.bytes.Load()), buckets, key.group, key.version,
			key.resource)
	}
}

// WatchMeter counts the events of one watch. A nil WatchMeter counts nothing. Not safe for concurrent use.
type WatchMeter struct {
	series *watchSeries
	listed prometheus.Observer
	began  time.Time
	ended  bool                    // all initial events were added, but Sent was not called since
	any    bool                    // events were added, but Sent was not called since
	counts [sizeBuckets + 1]uint32 // added since the last call of Sent
	bytes  uint64
}

// Watch returns the meter of a watch that the cache answers.
func (m *Metrics) Watch(e *observe.Event) *WatchMeter {
	if !e.Discovered {
		return nil
	}
	return &WatchMeter{
		series: m.watches.of(e), listed: m.watches.listed.WithLabelValues(e.Group, e.Version, e.Resource, scopeLabel(e)),
		began: e.Began,
	}
}

// Add adds events of about the same size. bytes is their total size.
func (w *WatchMeter) Add(events, bytes int) {
	if w == nil || events <= 0 {
		return
	}
	w.any = true
	w.counts[sizeBucket(bytes/events)] += uint32(events)
	w.bytes += uint64(bytes)
}

func sizeBucket(bytes int) int {
	return min(bits.Len(uint(max(bytes, 1)-1)>>smallestEvent), sizeBuckets)
}

// InitialEnd notes that all initial events have been added.
func (w *WatchMeter) InitialEnd() {
	if w != nil {
		w.ended = true
	}
}

// Sent counts the added events. The caller calls Sent when these events have been sent to the client.
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
