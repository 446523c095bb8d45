package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
)

// past describes the list from which the lane was filled, and why the lane may no longer match the upstream.
type past struct {
	replays    bool          // whether differences may be replayed
	otherPasts *atomic.Int64 // Lanes.otherPasts
	distrusted bool          // whether the last epoch ended for another reason than a lost window or errUncertain
	setBack    bool          // whether the last epoch ended because the upstream was restored
	pasts      int64         // value of otherPasts when the visible list began, plus contradictions that this lane found
	known      int64         // like pasts, for the list in progress; becomes pasts when that list is visible
	accept     string        // Accept header of the last list; empty before it
}

func (p *past) begins() { p.known = p.otherPasts.Load() }

func (p *past) distrust(reason error) {
	p.distrusted = p.distrusted || !isLost(reason) && !errors.Is(reason, errUncertain)
	if errors.Is(reason, errRestored) {
		p.setBack = true
		p.noteOtherPast()
	}
}

// noteOtherPast records, for all lanes, that the upstream's history contradicts the history that lanes have served. A
// single object of one lane is sufficient evidence.
func (p *past) noteOtherPast() {
	p.otherPasts.Add(1)
	p.known++
}

// Outcomes of a lost window.
const (
	replayed            = "replayed"
	replayOff           = "off"            // by configuration
	otherPast           = "contradicted"   // the upstream's history contradicts the lane, or may contradict it
	otherVersion        = "version"        // the upstream runs another Kubernetes version
	otherCluster        = "cluster"        // the upstream is another cluster, or no longer provides its UID
	otherRepresentation = "representation" // the upstream represents objects differently, or prints other columns
	setBack             = "set-back"       // the upstream is behind the lane
	manyChanges         = "many-changes"   // more objects have changed than the history can store
)

// replay continues the lane's epoch with a list at rv. The lane's watches receive the differences between its last
// State and the list (docs/adr/0021-lost-windows.md). It returns false if a new epoch has to begin, because there
// is no last State, or the differences cannot or must not be replayed.
func (p *publisher) replay(ctx context.Context, e *epoch, rv cache.RV, list []*cache.Object) bool {
	last, err := p.lane.Cache.State()
	if err != nil {
		return false
	}
	known, err := p.lane.Cache.Known()
	if err != nil {
		return false
	}
	outcome := p.mayReplay(ctx, e, last)
	if outcome == replayed {
		if outcome = outcomeOf(p.lane.Cache.Replay(rv, list)); outcome == otherPast || outcome == setBack {
			p.noteOtherPast()
		}
	}
	gvr := p.lane.Resource.GVR
	p.lane.metrics.LostWindow(gvr.Group, gvr.Resource, outcome)
	p.lane.log.Info("Listed the lane again", zap.String("outcome", outcome),
		zap.Stringer("from", known[0]), zap.Stringers("confirmed", known[1:]), zap.Stringer("to", rv))
	if outcome == replayed {
		e.shape = last.Shape() // the epoch keeps its shape, whose columns are the same
	}
	return outcome == replayed
}

// mayReplay returns "replayed" if the new list can be compared with the last State. Otherwise it returns the reason as
// an outcome. Objects are compared by their bytes, so both must have the same representation.
func (p *publisher) mayReplay(ctx context.Context, e *epoch, last *cache.State) string {
	switch now := time.Now(); {
	case !p.replays:
		return replayOff
	case p.distrusted || p.pasts != p.otherPasts.Load():
		return otherPast
	case !p.check.mayBeVersion(ctx, now):
		return otherVersion
	case p.check.isOtherCluster(p.check.clusters.since(ctx, now)):
		return otherCluster
	case p.accept != e.ask.Accept || last.Shape().Reprinted(e.columns),
		e.columns != nil && last.Shape().Prints() != e.shape.Prints():
		return otherRepresentation
	}
	return replayed
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return replayed
	case errors.Is(err, cache.ErrSetBack):
		return setBack
	case errors.Is(err, cache.ErrManyChanges):
		return manyChanges
	default:
		return otherPast
	}
}
