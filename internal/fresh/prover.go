package fresh

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
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
	turns   *turns
	readers *atomic.Int64 // who wait for a proof, or for the upstream's answer in its place
	stores  *stores
	demand  *demand
}

// NewProvers makes provers for lanes of one upstream. uncached is a resource that the upstream reads from etcd, nil
// when there is none. start runs work for all of them in the background, and returns false when that is over.
func NewProvers(upstream Upstream, uncached Source, metrics Metrics, start func(work func(context.Context)) bool) *Provers {
	p := &Provers{metrics: metrics, turns: newTurns(), readers: new(atomic.Int64), demand: newDemand()}
	p.stores = &stores{layout: newLayout(upstream), uncached: uncached}
	p.stores.make = func(uncached Source) *store { return newStore(metrics, sharedSize, uncached, start) }
	return p
}

// Options are what a Prover is made with.
type Options struct {
	Lane   *cache.Lane
	Source Source
	Filler Filler
	// Resource is the plural name under which the upstream stores what is in the lane.
	Resource string
	// Definition is that of a custom resource; nil for any other.
	Definition Definition
	// ReadFromEtcd: the upstream keeps no watch cache of the resource, so there are no bookmarks of it (semantics 4.1).
	ReadFromEtcd bool
}

// Prover proves for one lane what the upstream's current resourceVersion is and that the lane has reached it (semantics
// 10.5). What fills the lane tells it what happens there: Changed, Synced, Interrupted, Replaced.
type Prover struct {
	lane         *cache.Lane
	filler       Filler
	resource     string
	readFromEtcd bool

	metrics    Metrics
	turns      *turns
	company    *atomic.Int64 // Provers.readers
	membership *membership
	defined    defined
	rolls      rolls
	fences     fences
	rate       rate
	synced     atomic.Pointer[time.Time] // when the lane's last list, which was a consistent read, was asked for
	distrusted atomic.Bool               // the lane is wrong, and was not listed again yet
	whole      atomic.Pointer[time.Time] // when the lane was last known to hold everything
	demand     *demand                   // of the lanes of one upstream
	wanted     atomic.Pointer[time.Time] // when a dear answer was to be proven last; nil before the first
	credit     atomic.Int64              // nanoseconds of the upstream's that KeepUp may take
	passedOn   atomic.Int64              // nanoseconds that dear answers take the upstream which it was asked for
	unheard    cache.RV                  // what KeepUp found the last time
}

// Prover makes the prover of a lane.
func (p *Provers) Prover(o Options) *Prover {
	prover := &Prover{
		lane: o.Lane, filler: o.Filler, resource: o.Resource, readFromEtcd: o.ReadFromEtcd,
		metrics: p.metrics, turns: p.turns, company: p.readers, demand: p.demand,
	}
	prover.rate.since = time.Now()
	prover.membership = &membership{source: o.Source, stores: p.stores, own: newOwnStore(p.metrics, o.Filler.Start)}
	prover.defined = newDefined(o, p.metrics)
	prover.rolls.questions = newGroupCommit(p.turns, o.Filler.Start, prover.callRoll)
	return prover
}

// Changed says that a change was written to the lane. One goroutine calls it.
func (p *Prover) Changed(rv cache.RV) {
	now := time.Now()
	p.rate.note(now)
	p.whole.Store(&now)
	p.membership.seek(p.filler.Start)
	p.membership.store().account.note(p.resource, rv)
}

// Synced says that the lane holds a list that was read consistently and asked for at that time.
func (p *Prover) Synced(asked time.Time) {
	p.synced.Store(&asked)
	p.whole.Store(&asked)
}

// Interrupted says that the lane's watch broke off, or that the lane ends. The upstream may be restored before somebody
// watches again, and give out versions once more that the lane has heard of; or it may be started with another etcd for
// the resource.
func (p *Prover) Interrupted() {
	p.membership.leave()
	p.membership.stores.interrupted()
}

// Replaced says that the lane was listed again, and shows what the upstream has.
func (p *Prover) Replaced() { p.distrusted.Store(false) }

// distrust stops proofs until the lane is listed again: what it shows is not what the upstream has.
func (p *Prover) distrust(tell func()) {
	p.distrusted.Store(true)
	tell()
}

// Now is the upstream's resourceVersion at some moment after the call began; the lane need not have reached it.
func (p *Prover) Now(ctx context.Context) (cache.RV, error) {
	p.company.Add(1)
	defer p.company.Add(-1)
	if p.defined.unreadable() {
		return 0, ErrUnproven
	}
	reading, err := p.current(ctx)
	if err == nil {
		err = p.defined.confirm(ctx)
	}
	return reading.rv, err
}

// Recent is a State with every write that was finished before the request arrived, and how that was shown. ErrUnproven
// means that this could not be shown, or not for less than it takes the upstream to give the answer itself. ctx is the
// request's: when the answer is small, the upstream is taken to be busy with it instead until ctx ends.
func (p *Prover) Recent(ctx context.Context, arrived time.Time, answer Answer) (*cache.State, Proof, error) {
	if synced := p.synced.Load(); synced != nil && arrived.Before(*synced) {
		state, err := p.lane.State() // the request that made the lane start, and those that waited with it
		if err == nil && !p.defined.unreadable() && p.defined.confirm(ctx) == nil {
			return state, byFill, nil
		}
		return nil, byFill, cmp.Or(err, ErrUnproven)
	}
	p.membership.seek(p.filler.Start)
	p.company.Add(1)
	state, proof, err := p.prove(ctx, answer)
	if err == nil {
		err = p.defined.confirm(ctx)
	}
	if err == nil || !answer.Small() {
		p.company.Add(-1)
		return state, proof, err
	}
	p.turns.occupy()
	context.AfterFunc(ctx, func() { p.company.Add(-1) })
	return nil, proof, err
}

// prove tries what choose says, until one succeeds or nothing is left that is worth it.
func (p *Prover) prove(ctx context.Context, answer Answer) (*cache.State, Proof, error) {
	before, err := p.lane.State()
	if err != nil {
		return nil, byUpstream, err
	}
	if p.distrusted.Load() || p.defined.unreadable() {
		return nil, byUpstream, ErrUnproven
	}
	dear := p.isDear(before, answer)
	if dear {
		p.wants(answer)
	}
	now := reading{}
	for tried := byUpstream; ; {
		switch tried = p.choose(before, answer, tried); tried {
		case byProbe:
			state, at, err := p.proveByProbe(ctx)
			if proven := err == nil || ctx.Err() != nil || at.store == nil; proven {
				return state, byProbe, err
			}
			now = at
			if dear {
				p.misses(at)
			}
		case byRollCall:
			if state, err := p.proveByRollCall(ctx, before.RV(), answer); err == nil || ctx.Err() != nil {
				return state, byRollCall, err
			}
		case byFence:
			state, err := p.proveByFence(ctx, now)
			return state, byFence, err
		case byUpstream, byFill: // of which choose returns the first
			if dear && !p.passOn(ctx, answer) {
				state, err := p.proveByFence(ctx, now)
				return state, byFence, err
			}
			return nil, byUpstream, ErrUnproven
		}
	}
}

// Reach brings the lane up to a resourceVersion that it may not have heard of because its resource is quiet. It returns
// when the lane is there; ErrAhead when the upstream is not; ErrUnproven when it could not be shown, or not for less
// than it takes the upstream to give the answer itself.
func (p *Prover) Reach(ctx context.Context, want cache.RV, answer Answer) error {
	if _, err := p.lane.WaitFor(ctx, want, grace); err == nil {
		return nil // almost always: the client read it, or wrote it, a moment ago
	}
	if p.distrusted.Load() {
		return ErrUnproven
	}
	p.company.Add(1)
	defer p.company.Add(-1)
	_, now, err := p.proveByProbe(ctx)
	switch {
	case now.store == nil:
		return err
	case now.rv < want:
		return ErrAhead // only time can bring it
	case err == nil:
		return nil
	}
	dear := false
	if state, err := p.lane.State(); err == nil {
		if dear = p.isDear(state, answer); dear {
			p.wants(answer)
			p.misses(now)
		}
		if p.mayCallRoll(state) {
			if _, err := p.proveByRollCall(ctx, 0, answer); err == nil && p.at(want) {
				return nil
			}
		}
	}
	if !answer.Small() || dear && !p.passOn(ctx, answer) {
		return p.bring(ctx, want)
	}
	return ErrUnproven
}

// current is the upstream's resourceVersion at some moment after the call began.
func (p *Prover) current(ctx context.Context) (reading, error) {
	before, err := p.lane.State()
	if err != nil {
		return reading{}, err
	}
	now, err := p.membership.current(ctx, before.RV())
	if err == nil && now.rv < before.RV() {
		p.distrust(p.filler.SetBack)
		return reading{}, errSetBack
	}
	return now, err
}

// at tells whether the lane is complete up to rv.
func (p *Prover) at(rv cache.RV) bool {
	state, err := p.lane.State()
	return err == nil && state.RV() >= rv
}
