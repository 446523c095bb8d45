package fresh

import (
	"context"
	"sync/atomic"
	"time"
)

// demand is what consistent reads of lanes lack: that somebody hears of the versions of resources without a lane.
type demand struct {
	wanted atomic.Pointer[time.Time] // when a dear answer was to be proven last; nil before the first
	missed chan struct{}             // has room for one: a probe did not prove such an answer
}

func newDemand() *demand { return &demand{missed: make(chan struct{}, 1)} }

// Missed tells, on a channel, that a probe did not prove a lane because the store was at a version that no lane had
// heard of. One message may stand for many.
func (p *Checkers) Missed() <-chan struct{} { return p.demand.missed }

// WantedSince tells whether, since a moment, an answer was to be proven that takes the upstream more than ten probes.
func (p *Checkers) WantedSince(moment time.Time) bool {
	wanted := p.demand.wanted.Load()
	return wanted != nil && wanted.After(moment)
}

// wants notes that a dear answer is to be proven.
func (p *Checker) wants(answer Answer) {
	now := time.Now()
	p.wanted.Store(&now)
	p.demand.wanted.Store(&now)
	p.credit.Store(min(p.credit.Load()+int64(answer.price()), int64(mostCredit)))
}

// mostPassedOn is how much dear answers of one lane may take the upstream at a time that were not proven. Two
// processors are busy with it for a quarter of a second. Beyond it a fence is faster, which takes one to two seconds.
const mostPassedOn = 500 * time.Millisecond

// answeredWithin is for how long an answer counts that was passed on: the upstream has made it by then. A client that
// does not read it holds up no other reader.
const answeredWithin = 2 * time.Second

// passOn notes that the upstream gives a dear answer, and has the lane brought forward for the next reader. It returns
// false when the upstream has enough of them to give: then a fence is to be waited for. ctx is the request's.
func (p *Checker) passOn(ctx context.Context, answer Answer) bool {
	price := int64(answer.price())
	if p.passedOn.Add(price) > int64(mostPassedOn) {
		p.passedOn.Add(-price)
		return false
	}
	answering, over := context.WithTimeout(ctx, answeredWithin)
	context.AfterFunc(answering, func() { over(); p.passedOn.Add(-price) })
	p.catchUp()
	return true
}

// misses notes that a probe proved nothing. Of a store that no other lane shares nobody else could have heard.
func (p *Checker) misses(now reading) {
	if now.store == nil || now.store.alone {
		return
	}
	select {
	case p.demand.missed <- struct{}{}:
	default:
	}
}

// Join has a lane that is too large to be called over compared with the shared store before anybody reads it: else its
// first readers would be passed on until two comparisons have agreed, which takes seconds in a cluster where little
// changes. Called every so often; it asks nothing for a lane that has joined.
func (p *Checker) Join() {
	if state, err := p.lane.State(); err == nil && state.Len() > rollCallObjects {
		p.membership.seek(p.filler.Start)
	}
}

// keptUpFor is how long a lane is kept up after a dear answer was to be proven. What that may take the upstream is what
// the answers since then would have taken it, and mostCredit at most.
const (
	keptUpFor  = time.Minute
	mostCredit = 60 * progressWatchPrice
)

// KeepUp brings the lane forward in the background when it was read lately, and the store has moved past a version that
// nobody has heard of: kube-apiserver writes some that no resource shows. Without that, the next reader could not be
// proven by a probe. A version counts when it is found twice: its event may be on its way. Called every so often, by
// one goroutine.
func (p *Checker) KeepUp() {
	before := p.unaccounted
	p.unaccounted = 0
	if wanted := p.wanted.Load(); wanted == nil || time.Since(*wanted) > keptUpFor {
		return
	}
	shared := p.membership.joined.Load()
	state, err := p.lane.State()
	if err != nil || shared == nil || shared.isBroken() {
		return
	}
	p.unaccounted = shared.account.firstUnaccounted(state.RV())
	if p.unaccounted != 0 && p.unaccounted == before && p.credit.Load() >= int64(progressWatchPrice) {
		p.credit.Add(-int64(progressWatchPrice))
		p.catchUp()
	}
}
