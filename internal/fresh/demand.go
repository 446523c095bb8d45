package fresh

import (
	"context"
	"sync/atomic"
	"time"
)

// demand records that costly reads of an upstream's lanes could not be confirmed by a probe. Subscriptions to resources
// without a lane can then account for the missing versions.
type demand struct {
	wanted atomic.Pointer[time.Time] // time of the last costly read; nil before the first
	missed chan struct{}             // capacity 1: a probe did not confirm a costly read
}

func newDemand() *demand { return &demand{missed: make(chan struct{}, 1)} }

// Missed returns a channel that signals a costly read that a probe did not confirm, because no lane had received a
// version of the store. One message may stand for many reads.
func (c *Checkers) Missed() <-chan struct{} { return c.demand.missed }

// WantedSince reports whether a read that costs the upstream more than ten probes arrived after the given moment.
func (c *Checkers) WantedSince(moment time.Time) bool {
	wanted := c.demand.wanted.Load()
	return wanted != nil && wanted.After(moment)
}

// noteWanted records a costly read, and credits its price to KeepUp.
func (c *Checker) noteWanted(answer Answer) {
	now := time.Now()
	c.wanted.Store(&now)
	c.demand.wanted.Store(&now)
	c.credit.Store(min(c.credit.Load()+int64(answer.price()), int64(maxCredit)))
}

// maxForwarded is the maximum processor time that the forwarded costly answers of one lane may cost the upstream at a
// time. Two processors need a quarter of a second for it. Above it a progress watch is faster, which takes one to two
// seconds.
const maxForwarded = 500 * time.Millisecond

// answeredWithin is the time after which a forwarded answer no longer counts, because the upstream has produced it by
// then. So a client that reads slowly delays no other reader.
const answeredWithin = 2 * time.Second

// forward records that the upstream gives a costly answer, and starts to bring the lane up to date for the next reader.
// It returns false if the upstream already has too many such answers in progress. The caller then waits for a progress
// watch. ctx is the request's context.
func (c *Checker) forward(ctx context.Context, answer Answer) bool {
	price := int64(answer.price())
	if c.forwarded.Add(price) > int64(maxForwarded) {
		c.forwarded.Add(-price)
		return false
	}
	answering, cancel := context.WithTimeout(ctx, answeredWithin)
	context.AfterFunc(answering, func() { cancel(); c.forwarded.Add(-price) })
	c.catchUp()
	return true
}

// noteMissed signals that a probe did not confirm a lane. It ignores a store that no other lane shares, because no
// other lane can account for its versions.
func (c *Checker) noteMissed(now reading) {
	if now.store == nil || now.store.alone {
		return
	}
	select {
	case c.demand.missed <- struct{}{}:
	default:
	}
}

// Join compares a lane that is too large for a roll call with the shared store before the first read. Otherwise its
// first readers would be forwarded until two comparisons agree. That takes seconds in a cluster with few changes. Join
// is called periodically, and sends nothing for a lane that has joined.
func (c *Checker) Join() {
	if state, err := c.lane.State(); err == nil && state.Len() > rollCallObjects {
		c.membership.seek(c.filler.Start)
	}
}

// keptUpFor is how long a lane is kept up to date after a costly read. The cost to the upstream is limited to that of
// the answers to these reads, and to maxCredit.
const (
	keptUpFor = time.Minute
	maxCredit = 60 * progressWatchPrice
)

// KeepUp brings a recently read lane up to date in the background if no lane has received a version of the store.
// kube-apiserver writes versions that no resource shows. A probe cannot confirm a lane past such a version. A version
// counts only if two successive runs find it, because its event may be in transit during the first. KeepUp is called
// periodically, by one goroutine.
func (c *Checker) KeepUp() {
	before := c.unaccounted
	c.unaccounted = 0
	if wanted := c.wanted.Load(); wanted == nil || time.Since(*wanted) > keptUpFor {
		return
	}
	shared := c.membership.joined.Load()
	state, err := c.lane.State()
	if err != nil || shared == nil || shared.isBroken() {
		return
	}
	c.unaccounted = shared.account.firstUnaccounted(state.RV())
	if c.unaccounted != 0 && c.unaccounted == before && c.credit.Load() >= int64(progressWatchPrice) {
		c.credit.Add(-int64(progressWatchPrice))
		c.catchUp()
	}
}
