package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// seriesKept is how long the counters of an ended lane remain, so that every scraper reads their last values. Counters
// must not remain forever: a client that creates and deletes custom resources would add series without limit.
const seriesKept = 15 * time.Minute

// lifetimes contains the time when each series was last in use. Not safe for concurrent use.
type lifetimes[K comparable] map[K]time.Time

func (l lifetimes[K]) lives(key K) { l[key] = time.Now() }

// over removes and returns the series that were not in use for seriesKept.
func (l lifetimes[K]) over() (ended []K) {
	for key, last := range l {
		if time.Since(last) > seriesKept {
			ended = append(ended, key)
			delete(l, key)
		}
	}
	return ended
}

type laneLabels struct{ group, version, resource, encoding string }

// laneSeries are the counters by lane and by resource, with their lifetimes. Safe for concurrent use.
type laneSeries struct {
	byLane, byResource []*prometheus.CounterVec

	mu        sync.Mutex // guards the fields below
	lanes     lifetimes[laneLabels]
	resources lifetimes[groupResource]
}

func newLaneSeries(byLane, byResource []*prometheus.CounterVec) *laneSeries {
	return &laneSeries{
		byLane: byLane, byResource: byResource, lanes: lifetimes[laneLabels]{}, resources: lifetimes[groupResource]{},
	}
}

// countsLane marks the series of a lane as in use. Call it before counting.
func (s *laneSeries) countsLane(lane laneLabels) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes.lives(lane)
}

// countsResource marks the series of a resource as in use. Call it before counting.
func (s *laneSeries) countsResource(of groupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources.lives(of)
}

// end marks the series of the running lanes as in use, and deletes the series of lanes that ended seriesKept ago.
func (s *laneSeries) end(running []LaneStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lane := range running {
		s.lanes.lives(laneLabels{lane.Group, lane.Version, lane.Resource, lane.Encoding})
		s.resources.lives(groupResource{lane.Group, lane.Resource})
	}
	for _, lane := range s.lanes.over() {
		drop(s.byLane, prometheus.Labels{
			"group": lane.group, "version": lane.version, "resource": lane.resource, "encoding": lane.encoding,
		})
	}
	for _, of := range s.resources.over() {
		drop(s.byResource, prometheus.Labels{"group": of.group, "resource": of.resource})
	}
}

func drop(from []*prometheus.CounterVec, labels prometheus.Labels) {
	for _, counter := range from {
		counter.DeletePartialMatch(labels)
	}
}
