package cache

import (
	"slices"
	"sync"
	"time"

	"github.com/listfacade/listfacade/selectors"
)

// indexer builds the indexes that a lane turns out to need, and drops those that it no longer needs (ADR 16). Readers
// tell it how many objects they looked at in vain; it is only tried for its lock, so that no reader waits for another.
type indexer struct {
	lane  *Lane
	terms indexTerms

	mu       sync.Mutex // guards everything below; taken with the lane's writing held, never the other way round
	demands  map[selectors.Property]*demand
	writes   meter // events, of which each index costs an edit
	applied  uint64
	building bool
	resting  time.Time // nothing is built before
	closed   bool
	running  sync.WaitGroup // builds
}

// indexTerms say when an index is worth its price. The unit is an object that is looked at.
type indexTerms struct {
	scans  float64       // of all objects make up for building an index once,
	fixed  float64       // for having it whatever its size,
	write  float64       // and for keeping it up to date with one event
	least  int           // looked at in vain are told
	rest   time.Duration // between two builds, at the least
	pause  time.Duration // between them, in units of what the first took: so building takes a hundredth of a processor
	most   int           // indexes may be built
	budget int64         // is the part of the memory of the objects that they may have: a half, a third, ...
}

var defaultIndexTerms = indexTerms{
	scans: 12, fixed: 10_000, write: 50, least: 256, rest: time.Second, pause: 100, most: 8, budget: 8,
}

// demand is how much is asked for by single values of a property, whether that is indexed or not.
type demand struct {
	property selectors.Property
	saved    meter // objects that are looked at in vain without an index, or would be
}

// mostDemands is how many properties are remembered. Who asks by more of them in turn pushes out those that are asked
// for least.
const mostDemands = 64

func (x *indexer) init(l *Lane) {
	x.lane, x.terms = l, defaultIndexTerms
	x.demands = map[selectors.Property]*demand{}
}

// missed says that p's matches were looked for among so many objects that do not match, of the State s.
func (x *indexer) missed(s *State, p *selectors.Predicate, looked int) {
	if looked < x.terms.least {
		return
	}
	property, ok := s.epoch.sample().rarestValue(p)
	newest := x.lane.state.Load() // s may be of history, or of another epoch
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
		return // it was built meanwhile
	}
	if drop, ok := x.admits(newest, d, now); ok {
		x.building = true
		x.running.Go(func() { x.build(d, drop) })
	}
}

// used says that an index of s has spared its reader to look at so many objects.
func (x *indexer) used(s *State, d *demand, spared int) {
	if !x.mu.TryLock() {
		return
	}
	defer x.mu.Unlock()
	now := time.Now()
	d.saved.add(float64(spared), now, 16*x.price(s.Len(), now))
}

// demandOf returns what is known of a property. Of too many it forgets the one that is asked for least.
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

// price is what an index of so many objects has to save within the memory of a meter.
func (x *indexer) price(objects int, now time.Time) float64 {
	if applied := x.lane.counters.applied.Load(); applied != x.applied {
		x.writes.add(float64(applied-x.applied), now, maxEvents)
		x.applied = applied
	}
	return x.terms.fixed + x.terms.scans*float64(objects) + x.terms.write*x.writes.at(now)
}

// maxEvents bounds what a meter of events counts.
const maxEvents = 1e9

// room tells whether an index more may be built, and which goes for it: one that is asked for less than half as much.
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

// build makes an index beside the writer, lets it catch up with what was written meanwhile, and has the lane take it.
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

// unneeded are the indexes of a State that the lane has built and that no longer are worth an eighth of their price.
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

// close ends all building; nothing of it runs when it returns.
func (x *indexer) close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.running.Wait()
}

// has reports whether the State has an index of a property.
func (s *State) has(property selectors.Property) bool {
	return slices.ContainsFunc(s.indexes, func(i index) bool { return i.property == property })
}
