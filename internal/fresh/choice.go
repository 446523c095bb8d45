package fresh

import (
	"time"

	"github.com/listfacade/listfacade/cache"
)

// Proof is a way to show that a lane is fresh, or the way without: byUpstream.
type Proof int

const (
	byUpstream Proof = iota // no proof: the upstream answers
	byProbe
	byRollCall
	byFence
	byFill // the lane was filled after the request had arrived
)

// String returns the proof's name in logs; empty when there was none.
func (p Proof) String() string {
	return [...]string{"", "probe", "rollcall", "fence", "fill"}[p]
}

// choose says how a read is proven after what was tried in vain; byUpstream at first. It weighs what a way takes the
// upstream against the answer, which is never the dearer one:
//
//   - A probe is as dear as the smallest answer, and all lanes share it. It proves a lane that changes all the time,
//     and one that has probably missed nothing. A reader alone, with an answer as small as that, is the upstream's.
//   - A roll call is shared by the readers of one lane. Whether it is worth it is seen when it leaves, by how many they
//     are by then (callRoll).
//   - A fence costs little but time, up to two seconds: it is for answers that the upstream is to be spared by all
//     means.
func (p *Prover) choose(s *cache.State, answer Answer, tried Proof) Proof {
	callable := p.mayCallRoll(s)
	shared := answer.price() > 2*requestPrice || p.company.Load() > 1
	switch {
	case tried < byProbe && shared && (p.speaks(s) || !callable && !answer.Small()):
		return byProbe
	case tried < byRollCall && callable && (p.company.Load() > 1 || answer.price() > rollCallPrice(s.Len())+worthPrice):
		return byRollCall
	}
	if tried == byFence || answer.Small() {
		return byUpstream
	}
	return byFence
}

// speaks tells whether a probe is likely to be a proof.
func (p *Prover) speaks(s *cache.State) bool {
	if p.rate.busy(time.Now()) {
		return true
	}
	whole := p.whole.Load()
	return whole != nil && p.membership.store().account.likely(p.resource, s.RV(), time.Since(*whole))
}
