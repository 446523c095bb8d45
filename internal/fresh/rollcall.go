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
	// rollCallObjects is up to how many objects a lane is called over when several want to know: that many names and
	// versions take kube-apiserver about ten milliseconds.
	rollCallObjects = 500
	// rollCallAlone is up to how many when one does, who may want but a few of them.
	rollCallAlone = 100
	// rollCallPause is how long no roll is called after one that failed.
	rollCallPause = 30 * time.Second
)

// RollCall is the name and version of every object that the upstream had at RV: enough to tell whether a lane has the
// same, in one question, however quiet the resource is. Immutable.
type RollCall struct {
	RV       cache.RV
	Versions map[string]cache.RV // by the object's key in the lane
}

// matches tells whether a State holds exactly the objects that were called.
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

// rolls are the roll calls of one lane.
type rolls struct {
	questions *groupCommit[*RollCall]
	notBefore atomic.Int64 // unix nanoseconds until when no roll is called, because one failed
}

func (p *Prover) callRoll(ctx context.Context) (*RollCall, error) {
	p.metrics.Questioned("rollcall")
	call, err := p.membership.source.CallRoll(ctx)
	if err != nil {
		return nil, fmt.Errorf("call the roll: %w", err)
	}
	return call, nil
}

// mayCallRoll tells whether the lane is small enough to be called over, and its upstream able to.
func (p *Prover) mayCallRoll() bool {
	most := rollCallObjects
	if p.readers.Load() <= 1 {
		most = rollCallAlone
	}
	state, err := p.lane.State()
	return err == nil && state.Len() <= most && time.Now().UnixNano() >= p.rolls.notBefore.Load()
}

// postpone keeps the next readers from what failed for this one: for some time, or for ever when it would fail again.
func (r *rolls) postpone(err error) {
	until := time.Now().Add(rollCallPause).UnixNano()
	if errors.Is(err, ErrUnsupported) {
		until = math.MaxInt64
	}
	r.notBefore.Store(until)
}

// proveByRollCall calls the roll and waits, a moment only, until the lane has what was called: its events are on their
// way. held is what the lane held before.
func (p *Prover) proveByRollCall(ctx context.Context, held cache.RV) (*cache.State, error) {
	call, err := p.rolls.questions.get(ctx)
	if err != nil {
		if ctx.Err() == nil {
			p.rolls.postpone(err)
		}
		return nil, err
	}
	if call.RV < held {
		p.filler.SetBack()
		return nil, errSetBack
	}
	for deadline := time.Now().Add(grace); ; {
		state, err := p.lane.State()
		if err != nil {
			return nil, err
		}
		if p.holds(state, call.RV) {
			return state, nil
		}
		if call.matches(state) {
			if vouched := p.lane.Vouch(state, call.RV); vouched != nil {
				return vouched, nil
			}
			return nil, ErrUnproven
		}
		if _, err := p.lane.WaitFor(ctx, state.RV()+1, time.Until(deadline)); err != nil {
			return nil, ErrUnproven
		}
	}
}
