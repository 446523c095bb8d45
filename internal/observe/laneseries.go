package observe

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// seriesKept is how long the counters of a lane stay when the lane is gone: each scraper sees how they ended. If they
// stayed forever, a client that creates and deletes custom resources would make the number of series grow without end.
const seriesKept = 15 * time.Minute

// lifetimes says which of some series have had nothing to count for seriesKept. Not safe for concurrent use.
type lifetimes[K comparable] map[K]time.Time

// lives notes that a series has a lane, or was counted in.
func (l lifetimes[K]) lives(key K) { l[key] = time.Now() }

// over returns the series that are to end, and forgets them.
func (l lifetimes[K]) over() (ended []K) {
	for key, last := range l {
		if time.Since(last) > seriesKept {
			ended = append(ended, key)
			delete(l, key)
		}
	}
	return ended
}

// laneLabels name a lane.
type laneLabels struct{ group, version, resource, encoding string }

// laneSeries are the counters by lane, and by the resource of lanes, with how long they live. Safe for concurrent use.
type laneSeries struct {
	byLane, byResource []*prometheus.CounterVec

	mu        sync.Mutex // guards the rest
	lanes     lifetimes[laneLabels]
	resources lifetimes[groupResource]
}

func newLaneSeries(byLane, byResource []*prometheus.CounterVec) *laneSeries {
	return &laneSeries{
		byLane: byLane, byResource: byResource, lanes: lifetimes[laneLabels]{}, resources: lifetimes[groupResource]{},
	}
}

// countsLane is for before something of a lane is counted.
func (s *laneSeries) countsLane(lane laneLabels) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes.lives(lane)
}

// countsResource is for before something of the lanes of a resource is counted.
func (s *laneSeries) countsResource(of groupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources.lives(of)
}

// end ends the series of lanes that are gone. These are the lanes that run.
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
