package metrics

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// watchCacheCollector collects the metrics that kube-apiserver has for its watch caches. kube-apiserver has one watch
// cache for each resource, so the lanes of a resource are combined.
type watchCacheCollector struct {
	lanes                                 LaneSource
	version, objects, bytes               *prometheus.Desc
	initializations, received, terminated *prometheus.Desc
	mu                                    sync.Mutex // guards the fields below
	last                                  map[laneID]laneCounts
	totals                                map[groupResource]laneCounts
	lifetimes                             lifetimes[groupResource] // of the entries of totals
}

type groupResource struct{ group, resource string }

// laneID identifies one lane from its start to its end. The next lane of the resource begins to count at 0.
type laneID struct {
	of                groupResource
	version, encoding string
	began             time.Time
}

type laneCounts struct{ epochs, received, terminated uint64 }

func newWatchCacheCollector(lanes LaneSource) *watchCacheCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("apiserver_"+name, help, []string{"group", "resource"}, nil)
	}
	return &watchCacheCollector{
		lanes: lanes, last: map[laneID]laneCounts{}, totals: map[groupResource]laneCounts{},
		lifetimes: lifetimes[groupResource]{},
		version: desc("watch_cache_resource_version",
			"Last 15 digits of the resourceVersion up to which the cache is complete. If the resource is cached in several encodings, the lowest one."),
		objects: desc("resource_objects", "Cached objects of a resource."),
		bytes: desc("resource_size_estimate_bytes",
			"Bytes of the cached objects as the upstream sent them. If the resource is cached in several encodings, the bytes in protobuf."),
		initializations: desc("watch_cache_initializations_total", "Times that the cache was filled from a list."),
		received: desc("watch_cache_events_received_total",
			"Events from the upstream that were applied to the cache."),
		terminated: desc("terminated_watchers_total",
			"Watches that ended because their clients read so slowly that the history no longer contained their next event."),
	}
}

func (c *watchCacheCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.version, c.objects, c.bytes, c.initializations, c.received, c.terminated} {
		out <- desc
	}
}

// versionDigits limits a resourceVersion to its last 15 digits, as in kube-apiserver, because a float64 cannot
// represent more.
const versionDigits = 1_000_000_000_000_000

func (c *watchCacheCollector) Collect(out chan<- prometheus.Metric) {
	lanes, sums := c.look()
	for of, lane := range together(lanes) {
		out <- prometheus.MustNewConstMetric(c.version, prometheus.GaugeValue, float64(lane.ResourceVersion%versionDigits),
			of.group, of.resource)
		out <- prometheus.MustNewConstMetric(c.objects, prometheus.GaugeValue, float64(lane.Objects), of.group, of.resource)
		out <- prometheus.MustNewConstMetric(c.bytes, prometheus.GaugeValue, float64(lane.ObjectBytes), of.group, of.resource)
	}
	for of, sum := range sums {
		out <- prometheus.MustNewConstMetric(c.initializations, prometheus.CounterValue, float64(sum.epochs), of.group,
			of.resource)
		out <- prometheus.MustNewConstMetric(c.received, prometheus.CounterValue, float64(sum.received), of.group,
			of.resource)
		out <- prometheus.MustNewConstMetric(c.terminated, prometheus.CounterValue, float64(sum.terminated), of.group,
			of.resource)
	}
}

// look returns the lanes and the counters of each resource. It holds the mutex from reading the lanes until their
// counts are added. Otherwise a concurrent scrape could add older values later, and the totals would include the
// difference twice.
func (c *watchCacheCollector) look() ([]LaneStats, map[groupResource]laneCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lanes := c.lanes()
	return lanes, c.add(lanes)
}

// together combines the gauges of the synced lanes of each resource.
func together(lanes []LaneStats) map[groupResource]LaneStats {
	all := map[groupResource]LaneStats{}
	for _, lane := range lanes {
		if !lane.Synced {
			continue
		}
		of := groupResource{lane.Group, lane.Resource}
		other, several := all[of]
		if several {
			if other.Encoding == "protobuf" {
				lane.ObjectBytes = other.ObjectBytes
			}
			lane.ResourceVersion, lane.Objects = min(lane.ResourceVersion, other.ResourceVersion),
				max(lane.Objects, other.Objects)
		}
		all[of] = lane
	}
	return all
}

// add adds the counts since the last call to the totals, so that no counter decreases when a lane ends. It misses the
// counts of a lane between the last call and the lane's end. The caller holds mu.
func (c *watchCacheCollector) add(lanes []LaneStats) map[groupResource]laneCounts {
	now := make(map[laneID]laneCounts, len(lanes))
	for _, lane := range lanes {
		of := groupResource{lane.Group, lane.Resource}
		id := laneID{of: of, version: lane.Version, encoding: lane.Encoding, began: lane.Began}
		counts := laneCounts{epochs: lane.Epochs, received: lane.Applied, terminated: lane.Expired}
		last, sum := c.last[id], c.totals[of]
		sum.epochs += counts.epochs - last.epochs
		sum.received += counts.received - last.received
		sum.terminated += counts.terminated - last.terminated
		c.totals[of], now[id] = sum, counts
		c.lifetimes.lives(of)
	}
	for _, of := range c.lifetimes.over() {
		delete(c.totals, of)
	}
	c.last = now
	return maps.Clone(c.totals)
}
