package accounting

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// By is a kind of cost.
type By int

// The kinds of cost.
const (
	Bytes     By = iota // of bodies, after compression
	CPU                 // nanoseconds, estimated: see observe.Cost
	Objects             // objects examined for responses
	Forwarded           // requests that the upstream answered
	Events              // events of watches that the cache answers
	kinds
)

// Names contains the name of each kind of cost.
var Names = [kinds]string{"bytes", "cpu", "objects", "forwarded", "events"}

// String returns the kind's name.
func (b By) String() string { return Names[b] }

// MaxWindow is the maximum window of Top. Top also includes the current minute, which has not ended.
const MaxWindow = 15 * time.Minute

const ringSize = int64(MaxWindow/time.Minute) + 1

type minute struct {
	number int64 // minutes since the Unix epoch; 0 if unused
	by     [kinds]summary
}

func (m *minute) begin(number int64) {
	m.number = number
	for by := range m.by {
		m.by[by].clear()
	}
}

// Clients contains the costs of the last minutes by Key. Safe for concurrent use.
type Clients struct {
	observe.Ignore
	inflight *observe.Inflight
	seed     maphash.Seed
	began    time.Time

	mu    sync.Mutex // guards the fields below
	ring  [ringSize]minute
	now   int64 // number of the current minute
	guard guard
}

// NewClients returns empty Clients. inflight may be nil; requests are then counted only when they end.
func NewClients(inflight *observe.Inflight) *Clients {
	c := &Clients{inflight: inflight, seed: maphash.MakeSeed(), began: time.Now()}
	c.guard.seed = c.seed
	return c
}

// Done implements observe.Observer.
func (c *Clients) Done(e *observe.Event) { c.add(e, e.Charge()) }

// collectEvery is the interval at which requests in flight are counted.
const collectEvery = 10 * time.Second

// Run counts requests in flight until the context ends.
func (c *Clients) Run(ctx context.Context) {
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.collect()
		}
	}
}

// collect counts the cost that requests in flight have caused since the last call.
func (c *Clients) collect() {
	for p := range c.inflight.All() {
		if e, cost, ok := p.Charge(); ok {
			c.add(e, cost)
		}
	}
}

// add counts a cost for the key of an event, in the current minute. The time in the event is not used, because the
// clock may have been set in the meantime.
func (c *Clients) add(e *observe.Event, cost observe.Cost) {
	key := keyOf(e)
	digest := key.digest(c.seed)
	weights := [kinds]int64{cost.Bytes, int64(cost.CPU), cost.Objects, cost.Forwarded, cost.Events}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.minuteAt(time.Now())
	var kept *Key
	for by, weight := range weights {
		s := &m.by[by]
		if weight <= 0 || s.hit(digest, weight) {
			continue
		}
		if kept == nil {
			kept, digest = c.keep(m, key, e.Discovered)
			if s.hit(digest, weight) {
				continue
			}
		}
		s.admit(digest, kept, weight)
	}
}

// minuteAt returns the minute of a time. If the clock was set back into the previous minute, it returns the newest
// minute. If the clock was set back further, minuteAt clears all minutes, because Top would otherwise include minutes
// in the future.
func (c *Clients) minuteAt(at time.Time) *minute {
	number := at.Unix() / 60
	if number < c.now-1 {
		for i := range c.ring {
			c.ring[i].begin(0)
		}
	} else if number <= c.now {
		return &c.ring[c.now%ringSize]
	}
	c.guard.forget()
	c.now = number
	m := &c.ring[number%ringSize]
	m.begin(number)
	return m
}

// keep returns a copy of the key that the guard admits in place of key, and the digest of the copy. If a summary of
// this or the previous minute has a copy, keep returns that one.
func (c *Clients) keep(m *minute, key Key, discovered bool) (*Key, uint64) {
	admitted := c.guard.admit(key, discovered)
	digest := admitted.digest(c.seed)
	before := &c.ring[(c.now+ringSize-1)%ringSize]
	for by := range m.by {
		if kept := m.by[by].find(digest); kept != nil {
			return kept, digest
		}
		if kept := before.by[by].find(digest); kept != nil && before.number == c.now-1 {
			return kept, digest
		}
	}
	return admitted.kept(), digest
}
