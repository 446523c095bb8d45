package fresh

import (
	"context"

	"github.com/listfacade/listfacade/cache"
)

// Subscription adds the versions of a resource without a lane to the account. Other lanes then treat these versions as
// accounted. One goroutine reports each change, in the order of the versions.
type Subscription struct {
	resource   string
	membership *membership
	start      func(work func(context.Context)) bool
	received   bool // whether a change arrived since the last interruption
}

// Subscription returns a new Subscription. resource is the plural name under which the upstream stores the resource.
func (c *Checkers) Subscription(resource string, source Source,
	start func(work func(context.Context)) bool) *Subscription {
	own := newOwnStore(c.metrics, start)
	return &Subscription{resource: resource, membership: &membership{source: source, stores: c.stores, own: own},
		start: start}
}

// Received records that the resource changed at a version. Lanes ignore the version until comparisons in the background
// have shown that the resource shares their etcd.
func (s *Subscription) Received(rv cache.RV) {
	s.received = true
	s.membership.seek(s.start)
	s.membership.store().account.note(s.resource, rv)
}

// Interrupted records that the watch of the resource ended. The versions recorded so far may belong to another history
// than later ones (Checker.Interrupted). A subscription that received nothing since the last interruption leaves the
// account unchanged.
func (s *Subscription) Interrupted() {
	s.membership.leave()
	if s.received {
		s.membership.stores.interrupted()
	}
	s.received = false
}
