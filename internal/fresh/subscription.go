package fresh

import (
	"context"

	"github.com/listfacade/listfacade/cache"
)

// Subscription notes on the account of lanes the versions of a resource that has none, so that these are known not to
// be theirs. It is told of each change, in the order of their versions, by one goroutine.
type Subscription struct {
	resource   string
	membership *membership
	start      func(work func(context.Context)) bool
	received   bool // something, since the last interruption
}

// Subscription makes the ear for a resource, by the plural name under which the upstream stores it.
func (p *Checkers) Subscription(resource string, source Source, start func(work func(context.Context)) bool) *Subscription {
	own := newOwnStore(p.metrics, start)
	return &Subscription{resource: resource, membership: &membership{source: source, stores: p.stores, own: own}, start: start}
}

// Received says that the resource changed at a version. It counts once the resource is known to share the lanes' etcd,
// which is asked in the background.
func (e *Subscription) Received(rv cache.RV) {
	e.received = true
	e.membership.seek(e.start)
	e.membership.store().account.note(e.resource, rv)
}

// Interrupted says that nothing is heard any more, for a moment or for good: what was heard may be of another history
// by the time when something is heard again, as with Checker.Interrupted. An ear that has heard nothing since the last
// time takes nothing from the others.
func (e *Subscription) Interrupted() {
	e.membership.leave()
	if e.received {
		e.membership.stores.interrupted()
	}
	e.received = false
}
