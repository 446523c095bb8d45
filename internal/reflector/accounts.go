package reflector

import (
	"context"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/upstream"
)

const (
	// accountsFor is how long account watches stay open after a consistent read that needs them. Clients often repeat such
	// reads within minutes.
	accountsFor   = 10 * time.Minute
	accountsEvery = 2 * time.Second
	// keepUpEvery is the interval at which KeepUp is called for each lane. It must be longer than the time that an event
	// takes from the upstream to the lane (fresh.Checker.KeepUp).
	keepUpEvery        = 200 * time.Millisecond
	maxOpeningAccounts = 4
)

// accounts are metadata watches, through which the facade receives the resourceVersions of resources without a lane.
// The watches are open while consistent reads need them (docs/adr/0033-costly-reads.md).
type accounts struct {
	lanes     *Lanes
	resources func() []upstream.Resource // returns the resources whose metadata may be watched
	opening   chan struct{}              // limits how many watches are opened at a time
}

func newAccounts(l *Lanes) *accounts {
	return &accounts{lanes: l, resources: l.config.AccountFor, opening: make(chan struct{}, maxOpeningAccounts)}
}

// run opens account watches when a probe fails to confirm a lane for a costly read. It returns when the context ends.
func (a *accounts) run(ctx context.Context) {
	for {
		select {
		case <-a.lanes.checkers.Missed():
			a.receive(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// receive keeps account watches open, and calls KeepUp for all lanes, until no consistent read has needed these watches
// for accountsFor. It returns when the watches have ended.
func (a *accounts) receive(ctx context.Context) {
	var watches sync.WaitGroup
	defer watches.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	open := map[string]openAccount{}
	look, keep := time.NewTicker(accountsEvery), time.NewTicker(keepUpEvery)
	defer look.Stop()
	defer keep.Stop()
	a.lanes.log.Info("Started account watches: consistent reads need the resourceVersions of resources without a lane")
	for a.lanes.checkers.WantedSince(time.Now().Add(-accountsFor)) {
		a.adjust(ctx, open, &watches)
		for again := false; !again; {
			select {
			case <-keep.C:
				for _, r := range a.lanes.All() {
					r.checker.KeepUp()
				}
			case <-look.C:
				again = true
			case <-ctx.Done():
				return
			}
		}
	}
	a.lanes.log.Info("Stopped account watches: no consistent read needs them")
}

func (a *accounts) adjust(ctx context.Context, open map[string]openAccount, watches *sync.WaitGroup) {
	wanted := a.wanted()
	for stored, one := range open {
		if wanted[stored] != one.resource {
			one.end()
			delete(open, stored)
		}
	}
	for stored, resource := range wanted {
		if _, isOpen := open[stored]; isOpen {
			continue
		}
		one, end := context.WithCancel(ctx)
		open[stored] = openAccount{resource: resource, end: end}
		watches.Go(func() { a.newWatch(resource).run(one) })
	}
}

type openAccount struct {
	resource upstream.Resource
	end      context.CancelFunc
}

// wanted returns the resources without a lane, by their plural name. If a resource is served in several groups or
// versions, wanted returns the first of these, because all of them have the same changes.
func (a *accounts) wanted() map[string]upstream.Resource {
	received, wanted := a.lanes.received(), map[string]upstream.Resource{}
	for _, resource := range a.resources() {
		stored := resource.GVR.Resource
		if _, known := wanted[stored]; !known && !received[stored] {
			wanted[stored] = resource
		}
	}
	return wanted
}

func (a *accounts) newWatch(resource upstream.Resource) *accountWatch {
	asked := source{client: a.lanes.client, resource: resource}
	return &accountWatch{
		client: a.lanes.client, resource: resource, source: asked, opening: a.opening,
		subscription: a.lanes.checkers.Subscription(resource.GVR.Resource, asked, a.lanes.startShared),
	}
}

// received returns the plural names of built-in resources whose changes a lane receives.
func (l *Lanes) received() map[string]bool {
	received := map[string]bool{}
	for _, r := range l.All() {
		ended := false
		if failure := r.Failure(); failure != nil {
			ended = failure.Refused
		}
		if r.synced.Load() != nil && !ended && !r.Resource.Custom {
			received[r.Resource.GVR.Resource] = true
		}
	}
	return received
}
