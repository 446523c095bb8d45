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
	Objects             // that were compared with what was asked for
	Forwarded           // requests that the upstream answered
	Events              // of watches that the cache answers
	kinds
)

// Names are those of the kinds of cost, in their order.
var Names = [kinds]string{"bytes", "cpu", "objects", "forwarded", "events"}

// String returns the kind's name.
func (b By) String() string { return Names[b] }

// MaxWindow is how far back Top can look. The minute that is under way comes to it.
const MaxWindow = 15 * time.Minute

const ringSize = int64(MaxWindow/time.Minute) + 1

// minute is what was taken in one minute.
type minute struct {
	number int64 // since the Unix epoch
	by     [kinds]summary
}

// begin makes it another minute, in which nothing was taken; 0 is none.
func (m *minute) begin(number int64) {
	m.number = number
	for by := range m.by {
		m.by[by].clear()
	}
}

// Clients is who took what in the last minutes. Safe for concurrent use.
type Clients struct {
	inflight *observe.Inflight
	seed     maphash.Seed
	began    time.Time

	mu    sync.Mutex // guards what follows
	ring  [ringSize]minute
	now   int64 // the number of the minute that is under way
	guard guard
}

// NewClients begins to count. inflight is what is under way; nil when only what is over is to be counted.
func NewClients(inflight *observe.Inflight) *Clients {
	c := &Clients{inflight: inflight, seed: maphash.MakeSeed(), began: time.Now()}
	c.guard.seed = c.seed
	return c
}

// Done implements observe.Sink.
func (c *Clients) Done(e *observe.Event) { c.add(e, e.Charge()) }

// collectEvery is how often is counted what requests under way have taken.
const collectEvery = 10 * time.Second

// Run counts what requests under way take until the context ends.
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

// collect counts what requests under way have taken since it last did.
func (c *Clients) collect() {
	for _, p := range c.inflight.All() {
		if e, cost, ok := p.Charge(); ok {
			c.add(e, cost)
		}
	}
}

// add counts a cost for the key of an event, now: when it began was read from a clock that may have been set since.
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

// minuteAt is the minute of a time; the newest that there is where the clock went back by a minute. Where it went back
// by more, what was counted is forgotten: Top would count those minutes, which are yet to come, as the last ones.
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

// keep finds the key that is counted for one that has no place, and is kept.
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
