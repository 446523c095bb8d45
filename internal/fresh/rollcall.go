package fresh

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
)

const (
	// rollCallObjects is the maximum number of objects of a lane for a roll call. A roll call of that size costs
	// kube-apiserver about twenty milliseconds.
	rollCallObjects = 5000
	// rollCallPause is the time without roll calls after a failed call.
	rollCallPause time.Duration = 30 * time.Second
)

// RollCall contains the name and version of every object that the upstream had at RV. Immutable.
type RollCall struct {
	RV       cache.RV
	Versions map[string]cache.RV // by the object's key in the lane
}

func (c *RollCall) matches(s *cache.State) bool {
	if s.Len() != len(c.Versions) {
		return false
	}
	for key, rv := range c.Versions {
		if o, ok := s.Get(key); !ok || o.RV != rv {
			return false
		}
	}
	return true
}

type rolls struct {
	questions *groupCommit[*RollCall]
	notBefore atomic.Pointer[time.Time] // no roll call is made before this time, because the last one failed
}

// callRoll makes a roll call for the waiting readers. It returns errCheaper if the upstream's answers to these readers
// would cost less.
func (c *Checker) callRoll(ctx context.Context, waiters waiters) (*RollCall, error) {
	state, err := c.lane.State()
	if err != nil {
		return nil, err
	}
	if waiters.price <= rollCallPrice(state.Len())+worthPrice+c.defined.price() {
		return nil, errCheaper
	}
	began := time.Now()
	c.metrics.Questioned("roll-call")
	call, err := c.membership.source.CallRoll(ctx)
	if err != nil {
		return nil, fmt.Errorf("make a roll call: %w", err)
	}
	c.seats.observe(time.Since(began))
	c.membership.store().account.answered(call.RV, time.Now())
	return call, nil
}

func (c *Checker) mayCallRoll(s *cache.State) bool {
	return s.Len() <= rollCallObjects && isPast(c.rolls.notBefore.Load())
}

// postpone prevents roll calls for rollCallPause after a failure, or permanently if the upstream has no roll calls.
func (r *rolls) postpone(err error) {
	pause := rollCallPause
	if errors.Is(err, ErrUnsupported) {
		pause = math.MaxInt64
	}
	until := time.Now().Add(pause)
	r.notBefore.Store(&until)
}

// checkByRollCall makes a roll call, and waits a moment until the lane contains the same objects, because events may be
// in transit. After the wait it compares the lane once more: some deletions do not raise the lane's version, and so do
// not end the wait (semantics 4.4). The lane is wrong if it has other objects at the version of the roll call, or was
// at a higher version before the call. It then has to be listed again.
func (c *Checker) checkByRollCall(ctx context.Context, answer Answer) (*cache.State, error) {
	asked, began := time.Now(), c.trust.present.Load()
	before, err := c.lane.State()
	if err != nil {
		return nil, err
	}
	call, err := c.rolls.questions.get(ctx, answer.price())
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errCheaper) {
			c.rolls.postpone(err)
		}
		return nil, err
	}
	if call.RV < before.RV() {
		return nil, c.trust.distrust(began, ErrSetBack)
	}
	waited := error(nil)
	for deadline := time.Now().Add(grace); ; {
		state, err := c.lane.State()
		if err != nil {
			return nil, err
		}
		switch {
		case state.RV() == call.RV && !call.matches(state):
			return nil, c.trust.distrust(began, ErrContradicted)
		case state.RV() >= call.RV:
			return state, nil
		}
		if latest, err := c.lane.Latest(); err == nil && call.matches(latest) {
			vouched := c.lane.Vouch(latest, call.RV)
			if vouched == nil {
				return nil, ErrUnproven
			}
			c.completeAt.Store(&asked)
			return vouched, nil
		}
		if waited != nil {
			return nil, ErrUnproven
		}
		_, waited = c.lane.WaitFor(ctx, state.RV()+1, time.Until(deadline))
	}
}
