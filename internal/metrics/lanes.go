package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// LaneStats are the numbers of one lane at a scrape.
type LaneStats struct {
	Group, Version, Resource string
	Encoding                 string        // json or protobuf; a resource may have a lane for each
	Began                    time.Time     // when the lane was created
	AuditAge                 time.Duration // time since the self-audit compared all objects; since Began if it never did
	Differing                int           // objects that differ from the upstream according to the self-audit
	Synced                   bool
	// Time since the last message of the upstream; 0 while the watch is open and the upstream answers
	StaleSeconds    float64
	ResourceVersion uint64
	Objects         int
	// Objects received so far, and expected, in the list that fills the lane; 0 without such a list, or if unknown
	Filled, Expected        int64
	ObjectBytes             int64
	ObjectMemory            int64
	Indexes, OwnIndexes     int // all indexes, and those that the lane built because of requests
	IndexBytes              int64
	HistoryBytes, FillBytes int64
	Feeds, Watchers         int
	Lag                     int64  // events of the lane that its feeds have not received yet
	Epochs                  uint64 // number of times that the lane was filled since it started
	Applied, Expired        uint64 // events applied and watches expired since the lane started
	Indexed                 uint64 // indexes that the lane built because of requests since it started
}

// LaneSource returns the numbers of the running lanes.
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

// laneHelp ends the help of metrics about lanes, because an operator may not know the word.
const laneHelp = " A lane is the cache of one resource in one encoding."

func newLaneCollector(lanes LaneSource) *laneCollector {
	c := &laneCollector{lanes: lanes}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	c.add(gauge, "synced", "1 if the lane can serve reads, else 0.",
		func(s LaneStats) float64 {
			if s.Synced {
				return 1
			}
			return 0
		})
	c.add(gauge, "stale_seconds",
		"Seconds since the last message of the upstream; 0 while the lane's watch is open and the upstream answers.",
		func(s LaneStats) float64 { return s.StaleSeconds })
	c.add(gauge, "lag_events", "Events of the lane that were not dispatched to its watches yet.",
		func(s LaneStats) float64 { return float64(s.Lag) })
	c.add(gauge, "fill_objects", "Objects received so far of the list that fills the lane; 0 after the lane is filled.",
		func(s LaneStats) float64 { return float64(s.Filled) })
	c.add(gauge, "fill_expected_objects",
		"Objects expected in the list that fills the lane; 0 if unknown.",
		func(s LaneStats) float64 { return float64(s.Expected) })
	c.add(gauge, "object_bytes", "Bytes of the objects of the lane before compression.",
		func(s LaneStats) float64 { return float64(s.ObjectBytes) })
	c.add(gauge, "object_memory_bytes",
		"Bytes of memory of the objects of the lane, which may be compressed.",
		func(s LaneStats) float64 { return float64(s.ObjectMemory) })
	c.add(gauge, "indexes", "Indexes of the lane, those of --index and --label-index included.",
		func(s LaneStats) float64 { return float64(s.Indexes) })
	c.add(gauge, "own_indexes", "Indexes that the lane has built because of requests.",
		func(s LaneStats) float64 { return float64(s.OwnIndexes) })
	c.add(gauge, "index_bytes", "Bytes of memory of the indexes of the lane, without the objects.",
		func(s LaneStats) float64 { return float64(s.IndexBytes) })
	c.add(counter, "built_indexes_total",
		"Indexes that the lane has built because of requests, since the lane started.",
		func(s LaneStats) float64 { return float64(s.Indexed) })
	c.add(gauge, "history_bytes",
		"Bytes of memory that only the history of the lane references.",
		func(s LaneStats) float64 { return float64(s.HistoryBytes) })
	c.add(gauge, "fill_bytes", "Bytes of memory of the objects received so far of the list that fills the lane.",
		func(s LaneStats) float64 { return float64(s.FillBytes) })
	c.add(gauge, "feeds", "Feeds of the lane: groups of open watches with the same selector.",
		func(s LaneStats) float64 { return float64(s.Feeds) })
	c.add(gauge, "watchers", "Open watches that the lane serves.",
		func(s LaneStats) float64 { return float64(s.Watchers) })
	return c
}

func (c *laneCollector) add(kind prometheus.ValueType, name, help string, read func(LaneStats) float64) {
	desc := prometheus.NewDesc("listfacade_lane_"+name, help+laneHelp,
		[]string{"group", "version", "resource", "encoding"}, nil)
	c.metrics = append(c.metrics, laneMetric{desc: desc, kind: kind, read: read})
}

func (c *laneCollector) Describe(out chan<- *prometheus.Desc) {
	for _, metric := range c.metrics {
		out <- metric.desc
	}
}

func (c *laneCollector) Collect(out chan<- prometheus.Metric) {
	for _, lane := range c.lanes() {
		for _, m := range c.metrics {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(lane), lane.Group, lane.Version, lane.Resource,
				lane.Encoding)
		}
	}
}
