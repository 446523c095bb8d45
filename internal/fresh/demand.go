package fresh

import (
	"context"
	"sync/atomic"
	"time"
)

// demand records costly reads of an upstream's lanes, and whether probes failed to confirm a lane for them. The user of
// Checkers can then subscribe to resources without a lane, whose versions are missing in the account.
type demand struct {
	wanted atomic.Pointer[time.Time] // time of the last costly read; nil before the first
	missed chan struct{}             // capacity 1; receives a value when a probe did not confirm a lane
}

func newDemand() *demand { return &demand{missed: make(chan struct{}, 1)} }

// Missed returns a channel that receives a value when a probe could not confirm a lane for a costly read. The usual
// reason is a version of the store that no lane had received. One value may stand for many reads.
func (c *Checkers) Missed() <-chan struct{} { return c.demand.missed }

// WantedSince reports whether a costly read (Checker.isCostly) arrived after the given moment.
func (c *Checkers) WantedSince(moment time.Time) bool {
	wanted := c.demand.wanted.Load()
	return wanted != nil && wanted.After(moment)
}

func (c *Checker) noteWanted(answer Answer) {
	now := time.Now()
	c.wanted.Store(&now)
	c.demand.wanted.Store(&now)
	c.credit.Store(min(c.credit.Load()+int64(answer.price()), int64(maxCredit)))
}

// maxForwarded is the maximum total price of the forwarded costly answers that are in progress for one lane. For more
// answers, a progress watch is better, although it takes one to two seconds.
const maxForwarded = 500 * time.Millisecond

// answeredWithin is the time after which a forwarded answer no longer counts as in progress. The upstream has produced
// the answer by then, and a client that reads slowly should not delay other readers.
const answeredWithin = 2 * time.Second

// forward records that a costly read is forwarded to the upstream, and starts to bring the lane up to date for the next
// reader. It returns false if too many costly answers are in progress: the caller then waits for a progress watch.
func (c *Checker) forward(ctx context.Context, answer Answer) bool {
	forwards := c.takeForwarded(ctx, answer)
	if forwards {
		c.catchUp()
	}
	return forwards
}

// takeForwarded counts an answer as in progress, for answeredWithin or until ctx ends. It returns false, and counts
// nothing, if the answers in progress would then cost more than maxForwarded.
func (c *Checker) takeForwarded(ctx context.Context, answer Answer) bool {
	price := int64(answer.price())
	for {
		now := c.forwarded.Load()
		if now+price > int64(maxForwarded) {
			return false
		}
		if c.forwarded.CompareAndSwap(now, now+price) {
			break
		}
	}
	answering, cancel := context.WithTimeout(ctx, answeredWithin)
	context.AfterFunc(answering, func() { cancel(); c.forwarded.Add(-price) })
	return true
}

// noteMissed signals that a probe did not confirm a lane. It does nothing for a store of a single resource, because no
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

// Join starts a comparison with the shared store, before the first read, for a lane that is too large for a roll call.
// Otherwise its first reads would be forwarded until two comparisons agree, which takes seconds in a cluster with few
// changes. Join is called periodically, and sends nothing for a lane that has joined.
func (c *Checker) Join() {
	if state, err := c.lane.State(); err == nil && state.Len() > rollCallObjects {
		c.membership.seek(c.filler.Start)
	}
}

// keptUpFor is how long KeepUp updates a lane after a costly read. The progress watches of KeepUp may cost the upstream
// as much as the answers to the costly reads, but at most maxCredit.
const (
	keptUpFor = time.Minute
	maxCredit = 60 * progressWatchPrice
)

// KeepUp brings a recently read lane up to date in the background if a version of the store has reached no lane.
// kube-apiserver writes some versions that are not a change of any resource. A probe cannot confirm a lane beyond such
// a version. A version counts only if two successive calls find it, because its event may be in transit during the
// first call. KeepUp is called periodically, by one goroutine.
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
