package metrics

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/price"
)

// Saved is the work that kube-apiserver did not have to do since the start of the facade.
type Saved struct {
	Lists  uint64  `json:"lists"`      // answered from the cache
	Events uint64  `json:"events"`     // sent to watches from the cache
	Bytes  uint64  `json:"bytes"`      // of lists, events and single objects, before compression
	CPU    float64 `json:"cpuSeconds"` // estimate, in seconds
	// Caused is kube-apiserver's CPU for the facade's own requests, in seconds. It is not subtracted from CPU.
	Caused float64 `json:"causedCPUSeconds"`
}

// savedReads counts reads that the cache answered and that have ended.
type savedReads struct {
	lists, objects, watches atomic.Uint64
	bytes                   atomic.Uint64
	nanoseconds             atomic.Uint64 // estimated CPU of kube-apiserver
}

func (s *savedReads) done(e *observe.Event) {
	if e.Source != observe.FromCache || e.Code >= 400 || !e.Discovered {
		return
	}
	seconds := 0.0
	switch readLabel(e) {
	case readGet:
		s.objects.Add(1)
		seconds = price.Request
	case readList:
		s.lists.Add(1)
		seconds = listPrice(e)
	case readWatch:
		s.watches.Add(1)
		s.nanoseconds.Add(nanoseconds(price.Open))
		return // watchMetrics count the events
	default:
		return
	}
	s.bytes.Add(uint64(max(e.RawBytes, 0)))
	s.nanoseconds.Add(nanoseconds(seconds))
}

// listPrice returns the estimated CPU of kube-apiserver for a list. The estimate is too low for a Table or metadata:
// listPrice uses the size of the response, but kube-apiserver makes the response from the complete objects.
func listPrice(e *observe.Event) float64 {
	encoding := price.JSON
	if e.Encoding == "protobuf" {
		encoding = price.Protobuf
	}
	return price.List{
		Objects: float64(e.Returned), Bytes: float64(e.RawBytes) / price.SentBytes[encoding],
		Examined: float64(max(e.Looked-e.Returned, 0)), Encoding: encoding, Compressed: e.Bytes < e.RawBytes,
	}.CPU()
}

func nanoseconds(seconds float64) uint64 { return uint64(seconds * 1e9) }

type savedCollector struct {
	reads  *savedReads
	sent   *watchMetrics
	caused *causedWork
	lanes  LaneSource

	lists, events, bytes, cpu, causedCPU *prometheus.Desc

	mu sync.Mutex // serializes Saved, whose counters must not decrease
}

func newSavedCollector(reads *savedReads, sent *watchMetrics, caused *causedWork, lanes LaneSource) *savedCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("listfacade_"+name, help, labels, nil)
	}
	return &savedCollector{
		reads: reads, sent: sent, caused: caused, lanes: lanes,
		lists: desc("saved_lists_total", "Lists answered from the cache, which kube-apiserver did not have to answer."),
		events: desc("saved_watch_events_total",
			"Events sent to watches from the cache, which kube-apiserver did not have to send, bookmarks included."),
		bytes: desc("saved_bytes_total",
			"Bytes of lists, objects and events from the cache, before compression, which kube-apiserver did not have to produce."),
		cpu: desc("saved_cpu_seconds_total",
			"Estimate of the CPU seconds that kube-apiserver would have needed for reads from the cache. Prices per object, byte and event are those of docs/benchmarks.md."),
		causedCPU: desc("caused_cpu_seconds_total",
			"Estimate of the CPU seconds that kube-apiserver needed for the facade's own requests, by purpose: fill, events, audit, check, review or document. Subtract it from listfacade_saved_cpu_seconds_total.",
			"purpose"),
	}
}

func (c *savedCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.lists, c.events, c.bytes, c.cpu, c.causedCPU} {
		out <- desc
	}
}

func (c *savedCollector) Collect(out chan<- prometheus.Metric) {
	s, caused := c.saved()
	count := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...)
	}
	count(c.lists, float64(s.Lists))
	count(c.events, float64(s.Events))
	count(c.bytes, float64(s.Bytes))
	count(c.cpu, s.CPU)
	for purpose, seconds := range caused {
		count(c.causedCPU, seconds, purpose)
	}
}

func (c *savedCollector) saved() (Saved, map[string]float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	events, bytes := c.sent.sum()
	s := Saved{
		Lists: c.reads.lists.Load(), Events: events, Bytes: c.reads.bytes.Load() + bytes,
		CPU: float64(c.reads.nanoseconds.Load())/1e9 +
			price.Events(float64(events), float64(bytes)/price.SentBytes[price.JSON]),
	}
	caused := c.caused.seconds(c.lanes)
	for _, seconds := range caused {
		s.Caused += seconds
	}
	return s, caused
}

// Saved returns the work that kube-apiserver did not have to do, and the CPU that the facade caused.
func (m *Metrics) Saved() Saved {
	s, _ := m.saved.saved()
	return s
}
