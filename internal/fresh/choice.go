package fresh

import (
	"time"

	"github.com/listfacade/listfacade/cache"
)

// Check is a way to show that a lane is fresh, or the way without: byUpstream.
type Check int

const (
	byUpstream Check = iota // no proof: the upstream answers
	byProbe
	byRollCall
	byProgressWatch
	byFill // the lane was filled after the request had arrived
)

// String returns the proof's name in logs; empty when there was none.
func (p Check) String() string {
	return [...]string{"", "probe", "roll-call", "progress-watch", "fill"}[p]
}

// choose says how a read is proven after what was tried in vain; byUpstream at first. It weighs what a way takes the
// upstream against the answer, which is never the dearer one:
//
//   - A probe is as dear as the smallest answer, and all lanes share it. It is sent when it probably proves the lane,
//     and before anything that takes the upstream as much as ten probes. A reader alone, with an answer as small as a
//     probe, is the upstream's.
//   - A roll call is shared by the readers of one lane. Whether it is worth it is seen when it leaves, by how many they
//     are by then (callRoll).
//   - Of a custom resource each takes one more small question, for its definition (defined.confirm).
//   - A fence costs little but time, up to two seconds: it is for answers that the upstream is to be spared by all
//     means.
func (p *Checker) choose(s *cache.State, answer Answer, tried Check) Check {
	shared := answer.price() > 2*requestPrice+p.defined.price() || p.company.Load() > 1
	switch {
	case tried < byProbe && shared && (p.speaks(s) || p.isCostly(s, answer)):
		return byProbe
	case tried < byRollCall && p.wouldCallRoll(s, answer):
		return byRollCall
	}
	if tried == byProgressWatch || answer.Small() {
		return byUpstream
	}
	return byProgressWatch
}

// wouldCallRoll tells whether a roll call is to be a read's proof.
func (p *Checker) wouldCallRoll(s *cache.State, answer Answer) bool {
	worth := rollCallPrice(s.Len()) + worthPrice + p.defined.price()
	return p.mayCallRoll(s) && (p.company.Load() > 1 || answer.price() > worth)
}

// isCostly tells whether a read is worth a probe with little chance: a roll call counts if that is to be its proof.
func (p *Checker) isCostly(s *cache.State, answer Answer) bool {
	return answer.isCostly() && (!p.wouldCallRoll(s, answer) || rollCallPrice(s.Len()) > costlyPrice)
}

// speaks tells whether a probe is likely to be a proof.
func (p *Checker) speaks(s *cache.State) bool {
	if p.rate.busy(time.Now()) {
		return true
	}
	whole := p.whole.Load()
	return whole != nil && p.membership.store().account.likely(p.resource, s.RV(), time.Since(*whole))
}
