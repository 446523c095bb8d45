package fresh

import (
	"context"
	"time"

	"github.com/listfacade/listfacade/cache"
)

// checkByProbe reads the upstream's current version, and returns a State that misses no event up to this version. If
// the lane may miss an event, checkByProbe returns an error together with the reading. The reading's store is nil if
// the version could not be read, or is lower than the lane's.
func (c *Checker) checkByProbe(ctx context.Context) (*cache.State, reading, error) {
	asked := time.Now()
	now, err := c.current(ctx)
	if err != nil {
		return nil, reading{}, err
	}
	state, err := c.unchanged(ctx, now)
	if err == nil {
		c.completeAt.Store(&asked)
	}
	return state, now, err
}

// unchanged returns a State that misses no event up to the version of a reading. Either the lane has reached that
// version, or all versions in between are changes of other resources. unchanged waits a moment for events in transit.
func (c *Checker) unchanged(ctx context.Context, now reading) (*cache.State, error) {
	wait := shortGrace
	if c.rate.busy(time.Now()) {
		wait = grace
	}
	for deadline := time.Now().Add(wait); ; {
		state, err := c.lane.State()
		if err != nil {
			return nil, err
		}
		if state.RV() >= now.rv {
			return state, nil
		}
		missing := now.rv
		if now.store != c.membership.own {
			missing = now.store.account.missing(c.resource, state.RV(), now.rv)
		}
		if missing == 0 {
			if vouched := c.lane.Vouch(state, now.rv); vouched != nil {
				return vouched, nil
			}
			return nil, ErrUnproven
		}
		if err := c.awaitReceived(ctx, now.store, missing, time.Until(deadline)); err != nil {
			return nil, err
		}
	}
}

// awaitReceived waits until any lane of the store has received a version, or until this lane has reached it.
func (c *Checker) awaitReceived(ctx context.Context, s *store, rv cache.RV, wait time.Duration) error {
	if s == c.membership.own {
		return c.await(ctx, rv, wait)
	}
	n := s.account.await(rv)
	if n == nil {
		if state, err := c.lane.State(); err != nil || s.account.missing(c.resource, state.RV(), rv) != rv {
			return err // the lane of another resource has received it by now
		}
		return c.await(ctx, rv, wait) // another lane of this resource has already received the change
	}
	defer s.account.leave(rv, n)
	if c.hasReached(rv) {
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

func (c *Checker) await(ctx context.Context, rv cache.RV, wait time.Duration) error {
	if _, err := c.lane.WaitFor(ctx, rv, wait); err != nil {
		return ErrUnproven
	}
	return nil
}
