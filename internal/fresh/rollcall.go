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
	// rollCallObjects is up to how many objects a lane is called over: that many names and versions take kube-apiserver
	// about twenty milliseconds.
	rollCallObjects = 5000
	// rollCallPause is how long no roll is called after one that failed.
	rollCallPause time.Duration = 30 * time.Second
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
	notBefore atomic.Pointer[time.Time] // until when no roll is called, because one failed
}

// callRoll calls the roll for those who came together, unless their own answers are cheaper than that.
func (p *Checker) callRoll(ctx context.Context, party party) (*RollCall, error) {
	state, err := p.lane.State()
	if err != nil {
		return nil, err
	}
	if party.price <= rollCallPrice(state.Len())+worthPrice+p.defined.price() {
		return nil, errCheaper
	}
	began := time.Now()
	p.metrics.Questioned("roll-call")
	call, err := p.membership.source.CallRoll(ctx)
	if err != nil {
		return nil, fmt.Errorf("call the roll: %w", err)
	}
	p.seats.took(time.Since(began))
	p.membership.store().account.answered(call.RV, time.Now())
	return call, nil
}

// mayCallRoll tells whether the lane is small enough to be called over, and its upstream able to.
func (p *Checker) mayCallRoll(s *cache.State) bool {
	return s.Len() <= rollCallObjects && isPast(p.rolls.notBefore.Load())
}

// postpone keeps the next readers from what failed for this one: for some time, or for ever when it would fail again.
func (r *rolls) postpone(err error) {
	pause := rollCallPause
	if errors.Is(err, ErrUnsupported) {
		pause = math.MaxInt64
	}
	until := time.Now().Add(pause)
	r.notBefore.Store(&until)
}

// checkByRollCall calls the roll and waits, a moment only, until the lane has what was called: its events are on their
// way. held is what the lane held before. The lane is looked at once more when the moment is over: deletions at its own
// version wake nobody (semantics 4.4). A lane that has other objects at the version of the call itself is wrong: it has
// to be listed again.
func (p *Checker) checkByRollCall(ctx context.Context, held cache.RV, answer Answer) (*cache.State, error) {
	asked := time.Now()
	call, err := p.rolls.questions.get(ctx, answer.price())
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errCheaper) {
			p.rolls.postpone(err)
		}
		return nil, err
	}
	if call.RV < held {
		p.distrust(p.filler.SetBack)
		return nil, errSetBack
	}
	waited := error(nil)
	for deadline := time.Now().Add(grace); ; {
		state, err := p.lane.State()
		if err != nil {
			return nil, err
		}
		switch {
		case state.RV() == call.RV && !call.matches(state):
			p.distrust(p.filler.Contradicted)
			return nil, errContradicted
		case state.RV() >= call.RV:
			return state, nil
		}
		if latest, err := p.lane.Latest(); err == nil && call.matches(latest) {
			vouched := p.lane.Vouch(latest, call.RV)
			if vouched == nil {
				return nil, ErrUnproven
			}
			p.whole.Store(&asked)
			return vouched, nil
		}
		if waited != nil {
			return nil, ErrUnproven
		}
		_, waited = p.lane.WaitFor(ctx, state.RV()+1, time.Until(deadline))
	}
}
