package observe

import "github.com/prometheus/client_golang/prometheus"

// LaneStats is what one lane tells about itself at a scrape.
type LaneStats struct {
	Group, Version, Resource string
	Synced                   bool
	StaleSeconds             float64 // since the upstream was last heard; 0 while its watch is open
	ResourceVersion          uint64
	Objects                  int
	ObjectBytes              int64
	HistoryBytes             int64
	Feeds, Watchers          int
	Applied, Expired         uint64 // since the lane started
}

// LaneSource lists the running lanes.
type LaneSource func() []LaneStats

type laneCollector struct {
	lanes  LaneSource
	gauges []laneGauge
}

type laneGauge struct {
	desc *prometheus.Desc
	read func(LaneStats) float64
}

func newLaneCollector(lanes LaneSource) *laneCollector {
	labels := []string{"group", "version", "resource"}
	gauge := func(name, help string, read func(LaneStats) float64) laneGauge {
		return laneGauge{desc: prometheus.NewDesc("listfacade_lane_"+name, help, labels, nil), read: read}
	}
	return &laneCollector{lanes: lanes, gauges: []laneGauge{
		gauge("synced", "1 when the lane answers.", func(s LaneStats) float64 {
			if s.Synced {
				return 1
			}
			return 0
		}),
		gauge("stale_seconds", "Seconds since the upstream was heard; 0 while its watch is open.", func(s LaneStats) float64 { return s.StaleSeconds }),
		gauge("resource_version", "The resourceVersion that the lane is complete up to.", func(s LaneStats) float64 { return float64(s.ResourceVersion) }),
		gauge("objects", "Objects held.", func(s LaneStats) float64 { return float64(s.Objects) }),
		gauge("object_bytes", "Bytes of the objects held.", func(s LaneStats) float64 { return float64(s.ObjectBytes) }),
		gauge("history_bytes", "Bytes that only the history keeps.", func(s LaneStats) float64 { return float64(s.HistoryBytes) }),
		gauge("feeds", "Different filters that are watched.", func(s LaneStats) float64 { return float64(s.Feeds) }),
		gauge("applied_events", "Upstream events applied since the lane started.", func(s LaneStats) float64 { return float64(s.Applied) }),
		gauge("expired_watches", "Watches that history lost since the lane started.", func(s LaneStats) float64 { return float64(s.Expired) }),
		gauge("watchers", "Open watches.", func(s LaneStats) float64 { return float64(s.Watchers) }),
	}}
}

// Describe implements prometheus.Collector.
func (c *laneCollector) Describe(out chan<- *prometheus.Desc) {
	for _, gauge := range c.gauges {
		out <- gauge.desc
	}
}

// Collect implements prometheus.Collector.
func (c *laneCollector) Collect(out chan<- prometheus.Metric) {
	for _, lane := range c.lanes() {
		for _, gauge := range c.gauges {
			out <- prometheus.MustNewConstMetric(gauge.desc, prometheus.GaugeValue, gauge.read(lane), lane.Group, lane.Version, lane.Resource)
		}
	}
}
