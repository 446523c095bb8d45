package fresh

import (
	"time"

	"github.com/listfacade/listfacade/cache"
)

// Check is a kind of freshness check, or byUpstream for no check.
type Check int

const (
	byUpstream Check = iota // no check: the upstream answers
	byProbe
	byRollCall
	byProgressWatch
	byFill // the lane was filled after the request had arrived
)

// String returns the name of the check in logs; empty for byUpstream.
func (c Check) String() string {
	return [...]string{"", "probe", "roll-call", "progress-watch", "fill"}[c]
}

// choose returns the next check to run. tried is the check that has just failed, or byUpstream at first. choose
// compares what a check and the answer would cost the upstream:
//
//   - A probe costs as much as the smallest answer, and all lanes of a store share it. It is chosen if it is likely to
//     confirm the lane. It is also chosen if the answer, and a roll call if possible, cost more than ten probes. It is
//     not chosen for a single reader whose answer costs little more than a probe.
//   - A roll call is shared by the readers of one lane. Before callRoll sends the roll call, it checks whether the
//     answers to the waiting readers would cost more.
//   - For a custom resource, each check also needs a small request for the definition (defined.confirm).
//   - A progress watch costs little, but takes up to two seconds. It is chosen only for large answers (Answer.Small).
func (c *Checker) choose(s *cache.State, answer Answer, tried Check) Check {
	shared := answer.price() > 2*requestPrice+c.defined.price() || c.readers.Load() > 1
	switch {
	case tried < byProbe && shared && (c.probeIsLikely(s) || c.isCostly(s, answer)):
		return byProbe
	case tried < byRollCall && c.wouldCallRoll(s, answer):
		return byRollCall
	}
	if tried == byProgressWatch || answer.Small() {
		return byUpstream
	}
	return byProgressWatch
}

func (c *Checker) wouldCallRoll(s *cache.State, answer Answer) bool {
	worth := rollCallPrice(s.Len()) + worthPrice + c.defined.price()
	return c.mayCallRoll(s) && (c.readers.Load() > 1 || answer.price() > worth)
}

// isCostly reports whether a probe is worth its price even if it will probably not confirm the lane. The answer must be
// costly. If a roll call is the alternative, the roll call must be costly, too.
func (c *Checker) isCostly(s *cache.State, answer Answer) bool {
	return answer.isCostly() && (!c.wouldCallRoll(s, answer) || rollCallPrice(s.Len()) > costlyPrice)
}

// probeIsLikely reports whether a probe will probably confirm the lane.
func (c *Checker) probeIsLikely(s *cache.State) bool {
	if c.rate.busy(time.Now()) {
		return true
	}
	completeAt := c.completeAt.Load()
	return completeAt != nil && c.membership.store().account.likely(c.resource, s.RV(), time.Since(*completeAt))
}
