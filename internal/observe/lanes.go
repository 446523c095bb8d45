package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// LaneStats is what one lane tells about itself at a scrape.
type LaneStats struct {
	Group, Version, Resource string
	Encoding                 string        // json or protobuf; a resource may have a lane for each
	Began                    time.Time     // when the lane was made
	AuditAge                 time.Duration // since the lane was compared with the upstream, or was made
	Differing                int           // objects that the self-audit found to differ, and that are still so
	Synced                   bool
	StaleSeconds             float64 // since the upstream was last heard; 0 while the watch is open and it answers
	ResourceVersion          uint64
	Objects                  int
	Filled, Expected         int64 // objects of the listing under way; 0 when there is none, or nobody knows
	ObjectBytes              int64
	ObjectMemory             int64
	Indexes, OwnIndexes      int // in all, and those that the lane has built by itself
	IndexBytes               int64
	HistoryBytes, FillBytes  int64
	Feeds, Watchers          int
	Lag                      int64  // events that the lane has and its feeds have not been offered yet
	Epochs                   uint64 // lists that it was filled from, since the lane started
	Applied, Expired         uint64 // since the lane started
	Indexed                  uint64 // indexes built by itself since then
}

// LaneSource lists the running lanes.
type LaneSource func() []LaneStats

type laneCollector struct {
	lanes   LaneSource
	metrics []laneMetric
}

type laneMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(LaneStats) float64
}

func newLaneCollector(lanes LaneSource) *laneCollector {
	c := &laneCollector{lanes: lanes}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	c.add(gauge, "synced", "1 when the lane answers.", func(s LaneStats) float64 {
		if s.Synced {
			return 1
		}
		return 0
	})
	c.add(gauge, "stale_seconds", "Seconds since the upstream was heard; 0 while its watch is open and the upstream answers.",
		func(s LaneStats) float64 { return s.StaleSeconds })
	c.add(gauge, "lag_events", "Events that the lane has and its watches have not been offered yet.",
		func(s LaneStats) float64 { return float64(s.Lag) })
	c.add(gauge, "fill_objects", "Objects that have arrived of the list that fills the lane; 0 when it is filled.",
		func(s LaneStats) float64 { return float64(s.Filled) })
	c.add(gauge, "fill_expected_objects", "Objects that there are in that list, as far as is known; 0 when it is not.",
		func(s LaneStats) float64 { return float64(s.Expected) })
	c.add(gauge, "object_bytes", "Bytes of the objects held.", func(s LaneStats) float64 { return float64(s.ObjectBytes) })
	c.add(gauge, "object_memory_bytes", "Bytes of memory that the objects held take; fewer where they are kept compressed.",
		func(s LaneStats) float64 { return float64(s.ObjectMemory) })
	c.add(gauge, "indexes", "Indexes, those of --index and --label-index included.", func(s LaneStats) float64 { return float64(s.Indexes) })
	c.add(gauge, "own_indexes", "Indexes that the lane has built because they were asked for.",
		func(s LaneStats) float64 { return float64(s.OwnIndexes) })
	c.add(gauge, "index_bytes", "Bytes of the indexes, beside the objects.", func(s LaneStats) float64 { return float64(s.IndexBytes) })
	c.add(counter, "built_indexes_total", "Indexes that the lane has built because they were asked for, since it started.",
		func(s LaneStats) float64 { return float64(s.Indexed) })
	c.add(gauge, "history_bytes", "Bytes that only the history keeps.", func(s LaneStats) float64 { return float64(s.HistoryBytes) })
	c.add(gauge, "fill_bytes", "Bytes of memory that the objects take that have arrived of the list that fills the lane.",
		func(s LaneStats) float64 { return float64(s.FillBytes) })
	c.add(gauge, "feeds", "Different filters that are watched.", func(s LaneStats) float64 { return float64(s.Feeds) })
	c.add(gauge, "watchers", "Open watches.", func(s LaneStats) float64 { return float64(s.Watchers) })
	return c
}

func (c *laneCollector) add(kind prometheus.ValueType, name, help string, read func(LaneStats) float64) {
	desc := prometheus.NewDesc("listfacade_lane_"+name, help, []string{"group", "version", "resource", "encoding"}, nil)
	c.metrics = append(c.metrics, laneMetric{desc: desc, kind: kind, read: read})
}

// Describe implements prometheus.Collector.
func (c *laneCollector) Describe(out chan<- *prometheus.Desc) {
	for _, metric := range c.metrics {
		out <- metric.desc
	}
}

// Collect implements prometheus.Collector.
func (c *laneCollector) Collect(out chan<- prometheus.Metric) {
	for _, lane := range c.lanes() {
		for _, m := range c.metrics {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(lane), lane.Group, lane.Version, lane.Resource, lane.Encoding)
		}
	}
}
