package fresh

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
)

// Patience is how much a caller invests in a proof.
type Patience int

const (
	// Shared takes a proof that others need, too, or that comes by itself: for a caller whose answer costs the upstream
	// no more than a question.
	Shared Patience = iota
	// Brief asks one question: for a caller whose answer costs the upstream more, but less than a fence.
	Brief
	// Full opens a fence, a second watch that brings a quiet lane up to date in about a second (semantics 10.3).
	Full
)

const (
	// grace is how long is waited for an event that is on its way: the upstream's dispatch and one loopback hop are
	// under 5 ms.
	grace = 20 * time.Millisecond
	// shortGrace is that of a lane that changes seldom: only its last change may be on its way.
	shortGrace = 5 * time.Millisecond
)

// Provers makes the provers of one upstream's lanes, and holds what they share.
type Provers struct {
	metrics Metrics
	pace    *pace
	stores  *stores
}

// NewProvers makes provers for lanes of one upstream. start runs work for all of them in the background, and returns
// false when that is over.
func NewProvers(upstream Upstream, metrics Metrics, start func(work func(context.Context)) bool) *Provers {
	p := &Provers{metrics: metrics, pace: &pace{}}
	p.stores = &stores{layout: &layout{upstream: upstream}, make: func() *store { return newStore(metrics, p.pace, start) }}
	return p
}

// Options are what a Prover is made with. Every field is needed.
type Options struct {
	Lane   *cache.Lane
	Source Source
	Filler Filler
	// ReadFromEtcd: the upstream keeps no watch cache of the resource. So there are no bookmarks of it, and several
	// deletions may be at one resourceVersion (semantics 4.1, 4.4).
	ReadFromEtcd bool
}

// Prover proves for one lane what the upstream's current resourceVersion is and that the lane has reached it (semantics
// 10.5). What fills the lane tells it what happens there: Deleting, Changed, Synced.
type Prover struct {
	lane         *cache.Lane
	filler       Filler
	readFromEtcd bool

	metrics    Metrics
	pace       *pace
	membership *membership
	rolls      rolls
	fences     fences
	rate       rate
	readers    atomic.Int64              // who wait for this lane, or for the upstream's answer in its place
	synced     atomic.Pointer[time.Time] // when the lane's last list, which was a consistent read, was asked for
	deletion   atomic.Uint64             // the version of the last deletion, known before it is in the lane
}

// Prover makes the prover of a lane.
func (p *Provers) Prover(o Options) *Prover {
	prover := &Prover{lane: o.Lane, filler: o.Filler, readFromEtcd: o.ReadFromEtcd, metrics: p.metrics, pace: p.pace}
	prover.membership = &membership{source: o.Source, stores: p.stores, own: newStore(p.metrics, p.pace, o.Filler.Start)}
	prover.rolls.questions = newGroupCommit(p.pace, o.Filler.Start, prover.callRoll)
	return prover
}

// Deleting says that a deletion is about to be written to the lane.
func (p *Prover) Deleting(rv cache.RV) { p.deletion.Store(uint64(rv)) }

// Changed says that a change was written to the lane. One goroutine calls it.
func (p *Prover) Changed() { p.rate.note(time.Now()) }

// Synced says that the lane holds a list that was read consistently and asked for at that time.
func (p *Prover) Synced(asked time.Time) { p.synced.Store(&asked) }

// Now is the upstream's resourceVersion at some moment after the call began; the lane need not have reached it.
func (p *Prover) Now(ctx context.Context) (cache.RV, error) {
	p.pace.begin()
	defer p.pace.end()
	return p.current(ctx)
}

// Recent is a State with every write that was finished before the request arrived. ErrUnproven means that this could
// not be shown with that much patience. ctx is the request's: unless the patience is full, the upstream is taken to be
// busy with the answer instead until it ends.
func (p *Prover) Recent(ctx context.Context, arrived time.Time, patience Patience) (*cache.State, error) {
	if synced := p.synced.Load(); synced != nil && arrived.Before(*synced) {
		return p.lane.State() // the request that made the lane start, and those that waited with it
	}
	p.begin()
	state, err := p.prove(ctx, patience)
	if err != nil && patience != Full {
		context.AfterFunc(ctx, p.end) // until the request is over the upstream is busy with it
	} else {
		p.end()
	}
	return state, err
}

// begin counts a reader in, as one of all lanes and as one of this; the caller calls end.
func (p *Prover) begin() {
	p.pace.begin()
	p.readers.Add(1)
}

func (p *Prover) end() {
	p.readers.Add(-1)
	p.pace.end()
}

func (p *Prover) prove(ctx context.Context, patience Patience) (*cache.State, error) {
	before, err := p.lane.State()
	if err != nil {
		return nil, err
	}
	busy := p.rate.busy(time.Now())
	if patience == Shared && !busy && p.pace.alone() {
		return nil, ErrUnproven
	}
	if !busy && p.mayCallRoll() {
		if state, err := p.proveByRollCall(ctx, before.RV()); err == nil || ctx.Err() != nil {
			return state, err
		}
	}
	if patience == Shared && !busy {
		return nil, ErrUnproven // a probe tells of versions that a quiet lane has not heard of
	}
	rv, err := p.current(ctx)
	if err != nil {
		return nil, err
	}
	wait := grace
	if !busy {
		wait = shortGrace
	}
	if state, err := p.lane.WaitFor(ctx, rv, wait); err == nil && p.holds(state, rv) {
		return state, nil
	}
	if patience != Full {
		return nil, ErrUnproven
	}
	if busy && p.mayCallRoll() { // it no longer is: nothing came
		if state, err := p.proveByRollCall(ctx, before.RV()); err == nil || ctx.Err() != nil {
			return state, err
		}
	}
	if err := p.bring(ctx, rv); err != nil {
		return nil, err
	}
	return p.lane.State()
}

// Reach brings the lane up to a resourceVersion that it may not have heard of because its resource is quiet. It returns
// when the lane is there; ErrAhead when the upstream is not, ErrUnproven when it could not be shown with that much
// patience.
func (p *Prover) Reach(ctx context.Context, want cache.RV, patience Patience) error {
	if _, err := p.lane.WaitFor(ctx, want, grace); err == nil {
		return nil // almost always: the client read it, or wrote it, a moment ago
	}
	p.begin()
	defer p.end()
	rv, err := p.current(ctx)
	if err != nil {
		return err
	}
	if rv < want {
		return ErrAhead // only time can bring it
	}
	if p.mayCallRoll() {
		if _, err := p.proveByRollCall(ctx, 0); err == nil && p.at(want) {
			return nil
		}
	}
	if patience != Full {
		return ErrUnproven
	}
	return p.bring(ctx, want)
}

// current is the upstream's resourceVersion at some moment after the call began.
func (p *Prover) current(ctx context.Context) (cache.RV, error) {
	before, err := p.lane.State()
	if err != nil {
		return 0, err
	}
	rv, err := p.membership.current(ctx, before.RV())
	if err == nil && rv < before.RV() {
		p.filler.SetBack()
		err = errSetBack
	}
	return rv, err
}

// holds tells whether a State has every change up to rv. Of deletions at rv itself a resource that is read from etcd
// may have more than one (semantics 4.4), and the next may be on its way.
func (p *Prover) holds(s *cache.State, rv cache.RV) bool {
	if s.RV() == rv && p.readFromEtcd {
		return p.deletion.Load() < uint64(rv)
	}
	return s.RV() >= rv
}

// at tells whether the lane is complete up to rv.
func (p *Prover) at(rv cache.RV) bool {
	state, err := p.lane.State()
	return err == nil && state.RV() >= rv
}
