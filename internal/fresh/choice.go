package fresh

import (
	"time"

	"github.com/listfacade/listfacade/cache"
)

// Check is a kind of freshness check, or byUpstream if there is none.
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

// choose returns the next check to try after the failed one; tried is byUpstream at first. It compares the check's cost
// to the upstream with that of the answer. The answer is never the more expensive one:
//
//   - A probe costs as much as the smallest answer, and all lanes share it. It is chosen if it is likely to confirm the
//     lane, and before any request that costs the upstream as much as ten probes. A single reader whose answer costs no
//     more than a probe goes to the upstream.
//   - A roll call is shared by the readers of one lane. When it is sent, callRoll decides by the number of waiting
//     readers whether it is worth its price.
//   - For a custom resource, each check also needs a small request for the definition (defined.confirm).
//   - A progress watch costs little, but takes up to two seconds. It is for answers that are too large to leave them to
//     the upstream.
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

// wouldCallRoll reports whether a read is worth a roll call.
func (c *Checker) wouldCallRoll(s *cache.State, answer Answer) bool {
	worth := rollCallPrice(s.Len()) + worthPrice + c.defined.price()
	return c.mayCallRoll(s) && (c.readers.Load() > 1 || answer.price() > worth)
}

// isCostly reports whether a read is worth a probe that probably fails. If a roll call is the alternative, its price
// counts.
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
