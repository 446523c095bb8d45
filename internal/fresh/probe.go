package fresh

import (
	"context"
	"time"

	"github.com/listfacade/listfacade/cache"
)

// checkByProbe asks for the upstream's version of now and shows that the lane has missed nothing before it. The reading
// is there, too, when that could not be shown; its store is nil when there was no answer.
func (p *Checker) checkByProbe(ctx context.Context) (*cache.State, reading, error) {
	asked := time.Now()
	now, err := p.current(ctx)
	if err != nil {
		return nil, reading{}, err
	}
	state, err := p.unchanged(ctx, now)
	if err == nil {
		p.whole.Store(&asked)
	}
	return state, now, err
}

// unchanged is a State that misses nothing up to a reading: the lane is there, or all versions in between are of other
// resources. Events that are on their way are waited for, a moment only.
func (p *Checker) unchanged(ctx context.Context, now reading) (*cache.State, error) {
	wait := shortGrace
	if p.rate.busy(time.Now()) {
		wait = grace
	}
	for deadline := time.Now().Add(wait); ; {
		state, err := p.lane.State()
		if err != nil {
			return nil, err
		}
		if state.RV() >= now.rv {
			return state, nil
		}
		missing := now.rv
		if now.store != p.membership.own {
			missing = now.store.account.missing(p.resource, state.RV(), now.rv)
		}
		if missing == 0 {
			if vouched := p.lane.Vouch(state, now.rv); vouched != nil {
				return vouched, nil
			}
			return nil, ErrUnproven
		}
		if err := p.awaitReceived(ctx, now.store, missing, time.Until(deadline)); err != nil {
			return nil, err
		}
	}
}

// awaitReceived waits until a lane of the store has heard of a version, or this lane is there.
func (p *Checker) awaitReceived(ctx context.Context, s *store, rv cache.RV, wait time.Duration) error {
	if s == p.membership.own {
		return p.await(ctx, rv, wait)
	}
	n := s.account.await(rv)
	if n == nil {
		if state, err := p.lane.State(); err != nil || s.account.missing(p.resource, state.RV(), rv) != rv {
			return err // it was heard of in this moment
		}
		return p.await(ctx, rv, wait) // it is this resource's; another lane of it was faster
	}
	defer s.account.leave(rv, n)
	if p.at(rv) {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-n.received:
		return nil
	case <-timer.C:
		return ErrUnproven
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await waits until the lane is at a version.
func (p *Checker) await(ctx context.Context, rv cache.RV, wait time.Duration) error {
	if _, err := p.lane.WaitFor(ctx, rv, wait); err != nil {
		return ErrUnproven
	}
	return nil
}
