package cache

import (
	"slices"
	"sync"
	"time"

	"github.com/listfacade/listfacade/selectors"
)

// indexer builds the indexes that a lane needs, and drops those that it no longer needs (ADR 16). Readers report how
// many objects they compared without a match. A reader that finds the indexer locked drops its report, so no reader
// waits for another.
type indexer struct {
	lane  *Lane
	terms indexTerms

	mu       sync.Mutex // guards all fields below; taken after Lane.writing, if both are needed
	demands  map[selectors.Property]*demand
	writes   meter // number of recent events, each of which costs an edit per index
	applied  uint64
	building bool
	resting  time.Time // time before which the indexer builds nothing
	closed   bool
	running  sync.WaitGroup
}

// indexTerms says when an index is worth its cost. The unit of costs is the comparison of one object.
type indexTerms struct {
	scans  float64       // cost of building an index, per object
	fixed  float64       // fixed cost of an index
	write  float64       // cost of updating the index for one event
	least  int           // minimum number of comparisons without a match that a list reports
	rest   time.Duration // minimum time between two builds
	pause  time.Duration // minimum rest after a build, in multiples of its duration; 100 means at most 1% of a CPU
	most   int           // maximum number of indexes that the lane builds
	budget int64         // the lane-built indexes take at most the memory of the objects divided by budget
}

var defaultIndexTerms = indexTerms{
	scans: 12, fixed: 10_000, write: 50, least: 256, rest: time.Second, pause: 100, most: 8, budget: 8,
}

// demand measures how often lists require a single value of a property, whether or not the property is indexed.
type demand struct {
	property selectors.Property
	saved    meter // comparisons without a match that an index saves or would save
}

// mostDemands is the maximum number of properties whose demand the indexer measures.
const mostDemands = 64

func (x *indexer) init(l *Lane) {
	x.lane, x.terms = l, defaultIndexTerms
	x.demands = map[selectors.Property]*demand{}
}

// missed records that a list with the predicate p compared this many objects of s without a match. It may start the
// build of an index.
func (x *indexer) missed(s *State, p *selectors.Predicate, looked int) {
	if looked < x.terms.least {
		return
	}
	property, ok := s.epoch.sample().rarestValue(p)
	newest := x.lane.state.Load() // s may be an older State, or belong to another epoch
	if !ok || newest == nil || newest.has(property) || !x.mu.TryLock() {
		return
	}
	defer x.mu.Unlock()
	now := time.Now()
	d := x.demandOf(property, now)
	d.saved.add(float64(looked), now, 16*x.price(s.Len(), now))
	if x.building || x.closed || now.Before(x.resting) || d.saved.at(now) < x.price(s.Len(), now) {
		return
	}
	if newest = x.lane.state.Load(); newest == nil || newest.has(property) {
		return // the index was built in the meantime
	}
	if drop, ok := x.admits(newest, d, now); ok {
		x.building = true
		x.running.Go(func() { x.build(d, drop) })
	}
}

// used records that the index of the demand d saved a reader of s this many comparisons.
func (x *indexer) used(s *State, d *demand, spared int) {
	if !x.mu.TryLock() {
		return
	}
	defer x.mu.Unlock()
	now := time.Now()
	d.saved.add(float64(spared), now, 16*x.price(s.Len(), now))
}

func (x *indexer) demandOf(property selectors.Property, now time.Time) *demand {
	if d := x.demands[property]; d != nil {
		return d
	}
	if len(x.demands) >= mostDemands {
		var least *demand
		for _, d := range x.demands {
			if least == nil || d.saved.at(now) < least.saved.at(now) {
				least = d
			}
		}
		delete(x.demands, least.property)
	}
	d := &demand{property: property}
	x.demands[property] = d
	return d
}

// price returns how many recent comparisons an index of this many objects must save to be worth its cost.
func (x *indexer) price(objects int, now time.Time) float64 {
	if applied := x.lane.counters.applied.Load(); applied != x.applied {
		x.writes.add(float64(applied-x.applied), now, maxEvents)
		x.applied = applied
	}
	return x.terms.fixed + x.terms.scans*float64(objects) + x.terms.write*x.writes.at(now)
}

const maxEvents = 1e9

// admits reports whether another index may be built, and which index it replaces, if any. An index is replaced only if
// it saves less than half as many comparisons as an index for d.
func (x *indexer) admits(s *State, d *demand, now time.Time) (drop *demand, ok bool) {
	const entry = pageBytes/fill + 8
	bytes, count := int64(entry*s.Len()), 1
	for i := range s.indexes {
		if own := s.indexes[i].demand; own != nil {
			bytes += s.indexes[i].bytes()
			count++
			if drop == nil || own.saved.at(now) < drop.saved.at(now) {
				drop = own
			}
		}
	}
	if count <= x.terms.most && bytes <= (s.size-x.lane.counters.saved.Load())/x.terms.budget {
		return nil, true
	}
	return drop, drop != nil && 2*drop.saved.at(now) < d.saved.at(now)
}

// build makes an index while the writer continues.
func (x *indexer) build(d, drop *demand) {
	start := time.Now()
	if s := x.lane.state.Load(); s != nil {
		objects := make([]*Object, 0, s.Len())
		for o := range s.Objects(Span{}) {
			objects = append(objects, o)
		}
		made := &draft{index: newIndex(Index{d.property}, objects), epoch: s.epoch, seq: s.seq}
		made.demand = d
		if made.catchUp() {
			x.lane.adopt(made, drop)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.building = false
	x.resting = time.Now().Add(max(x.terms.rest, x.terms.pause*time.Since(start)))
}

// unneeded returns the demands of the lane-built indexes in the State that save less than an eighth of their price.
func (x *indexer) unneeded(s *State, now time.Time) (drop []*demand) {
	x.mu.Lock()
	defer x.mu.Unlock()
	price := x.price(s.Len(), now)
	for i := range s.indexes {
		if d := s.indexes[i].demand; d != nil && 8*d.saved.at(now) < price {
			drop = append(drop, d)
		}
	}
	return drop
}

func (x *indexer) close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.running.Wait()
}

func (s *State) has(property selectors.Property) bool {
	return slices.ContainsFunc(s.indexes, func(i index) bool { return i.property == property })
}
