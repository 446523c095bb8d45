package reflector

import (
	"context"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/upstream"
)

const (
	// accountsFor is how long account watches stay open after a consistent read that needs them: informers list again and
	// people type commands at such distances.
	accountsFor = 10 * time.Minute
	// accountsEvery is how often it is looked for which resources there are to be account watches.
	accountsEvery = 2 * time.Second
	// keepUpEvery is how often lanes are looked at that are to be kept up: an event takes less to arrive.
	keepUpEvery = 200 * time.Millisecond
	// accountsAtOnce is how many account watches are being opened at a time.
	accountsAtOnce = 4
)

// accounts are the watches of metadata by which the facade hears of the versions of resources that have no lane. They
// are open while consistent reads need them (docs/adr/0033-versions-are-accounted-for.md).
type accounts struct {
	lanes     *Lanes
	resources func() []upstream.Resource // those that may be watched
	opening   chan struct{}              // has room for those that are being opened
}

func newAccounts(l *Lanes) *accounts {
	return &accounts{lanes: l, resources: l.config.AccountFor, opening: make(chan struct{}, accountsAtOnce)}
}

// run opens account watches when a probe did not prove a lane, until the context ends.
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

// hear holds account watches open, and keeps up the lanes that were read lately, until no consistent read has needed
// that for a while. It returns when the watches have ended.
func (a *accounts) receive(ctx context.Context) {
	var watches sync.WaitGroup
	defer watches.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	open := map[string]openAccount{}
	look, keep := time.NewTicker(accountsEvery), time.NewTicker(keepUpEvery)
	defer look.Stop()
	defer keep.Stop()
	a.lanes.log.Info("watching the metadata of what nobody reads here, so that consistent reads can be proven")
	defer a.lanes.log.Info("no consistent read needs account watches any more")
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
}

// adjust opens the watches that are missing, and ends those of resources that have a lane now, or are not to be watched
// any more.
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

// openAccount is a watch that runs.
type openAccount struct {
	resource upstream.Resource
	end      context.CancelFunc
}

// wanted are the resources without a lane, by their plural name: of one that is served in several versions, and groups,
// the first is enough.
func (a *accounts) wanted() map[string]upstream.Resource {
	heard, wanted := a.lanes.received(), map[string]upstream.Resource{}
	for _, resource := range a.resources() {
		stored := resource.GVR.Resource
		if _, known := wanted[stored]; !known && !heard[stored] {
			wanted[stored] = resource
		}
	}
	return wanted
}

func (a *accounts) newWatch(resource upstream.Resource) *accountWatch {
	asked := source{client: a.lanes.client, resource: resource}
	return &accountWatch{
		client: a.lanes.client, resource: resource, source: asked, opening: a.opening,
		ear: a.lanes.checkers.Subscription(resource.GVR.Resource, asked, a.lanes.startShared),
	}
}

// heard are the plural names of built-in resources whose changes a lane hears of.
func (l *Lanes) received() map[string]bool {
	heard := map[string]bool{}
	for _, r := range l.All() {
		ended := false
		if failure := r.Failure(); failure != nil {
			ended = failure.Refused
		}
		if r.writer.synced.Load() != nil && !ended && !r.Resource.Custom {
			heard[r.Resource.GVR.Resource] = true
		}
	}
	return heard
}
