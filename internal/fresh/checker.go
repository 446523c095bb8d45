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

// Checkers makes the provers of one upstream's lanes, and holds what they share.
type Checkers struct {
	metrics Metrics
	seats   *questionSeats
	readers *atomic.Int64 // who wait for a proof, or for the upstream's answer in its place
	stores  *stores
	demand  *demand
}

// NewCheckers makes provers for lanes of one upstream. uncached is a resource that the upstream reads from etcd, nil
// when there is none. start runs work for all of them in the background, and returns false when that is over.
func NewCheckers(upstream Upstream, uncached Source, metrics Metrics, start func(work func(context.Context)) bool) *Checkers {
	p := &Checkers{metrics: metrics, seats: newQuestionSeats(), readers: new(atomic.Int64), demand: newDemand()}
	p.stores = &stores{layout: newLayout(upstream), uncached: uncached}
	p.stores.make = func(uncached Source) *store { return newStore(metrics, sharedSize, uncached, start) }
	return p
}

// Options are what a Checker is made with.
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

// Checker proves for one lane what the upstream's current resourceVersion is and that the lane has reached it
// (semantics 10.5). What fills the lane tells it what happens there: Changed, Synced, Interrupted, Replaced.
type Checker struct {
	lane         *cache.Lane
	filler       Filler
	resource     string
	readFromEtcd bool

	metrics         Metrics
	seats           *questionSeats
	company         *atomic.Int64 // Checkers.readers
	membership      *membership
	defined         defined
	rolls           rolls
	progressWatches progressWatches
	rate            rate
	synced          atomic.Pointer[time.Time] // when the lane's last list, which was a consistent read, was asked for
	distrusted      atomic.Bool               // the lane is wrong, and was not listed again yet
	whole           atomic.Pointer[time.Time] // when the lane was last known to hold everything
	demand          *demand                   // of the lanes of one upstream
	wanted          atomic.Pointer[time.Time] // when a dear answer was to be proven last; nil before the first
	credit          atomic.Int64              // nanoseconds of the upstream's that KeepUp may take
	passedOn        atomic.Int64              // nanoseconds that dear answers take the upstream which it was asked for
	unaccounted     cache.RV                  // what KeepUp found the last time
}

// Checker makes the prover of a lane.
func (p *Checkers) Checker(o Options) *Checker {
	checker := &Checker{
		lane: o.Lane, filler: o.Filler, resource: o.Resource, readFromEtcd: o.ReadFromEtcd,
		metrics: p.metrics, seats: p.seats, company: p.readers, demand: p.demand,
	}
	checker.rate.since = time.Now()
	checker.membership = &membership{source: o.Source, stores: p.stores, own: newOwnStore(p.metrics, o.Filler.Start)}
	checker.defined = newDefined(o, p.metrics)
	checker.rolls.questions = newGroupCommit(p.seats, o.Filler.Start, checker.callRoll)
	return checker
}

// Changed says that a change was written to the lane. One goroutine calls it.
func (p *Checker) Changed(rv cache.RV) {
	now := time.Now()
	p.rate.note(now)
	p.whole.Store(&now)
	p.membership.seek(p.filler.Start)
	p.membership.store().account.note(p.resource, rv)
}

// Synced says that the lane holds a list that was read consistently and asked for at that time.
func (p *Checker) Synced(asked time.Time) {
	p.synced.Store(&asked)
	p.whole.Store(&asked)
}

// Interrupted says that the lane's watch broke off, or that the lane ends. The upstream may be restored before somebody
// watches again, and give out versions once more that the lane has heard of; or it may be started with another etcd for
// the resource.
func (p *Checker) Interrupted() {
	p.membership.leave()
	p.membership.stores.interrupted()
}

// Replaced says that the lane was listed again, and shows what the upstream has.
func (p *Checker) Replaced() { p.distrusted.Store(false) }

// distrust stops proofs until the lane is listed again: what it shows is not what the upstream has.
func (p *Checker) distrust(tell func()) {
	p.distrusted.Store(true)
	tell()
}

// Now is the upstream's resourceVersion at some moment after the call began; the lane need not have reached it.
func (p *Checker) Now(ctx context.Context) (cache.RV, error) {
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
func (p *Checker) Recent(ctx context.Context, arrived time.Time, answer Answer) (*cache.State, Check, error) {
	if synced := p.synced.Load(); synced != nil && arrived.Before(*synced) {
		state, err := p.lane.State() // the request that made the lane start, and those that waited with it
		if err == nil && !p.defined.unreadable() && p.defined.confirm(ctx) == nil {
			return state, byFill, nil
		}
		return nil, byFill, cmp.Or(err, ErrUnproven)
	}
	p.membership.seek(p.filler.Start)
	p.company.Add(1)
	state, check, err := p.check(ctx, answer)
	if err == nil {
		err = p.defined.confirm(ctx)
	}
	if err == nil || !answer.Small() {
		p.company.Add(-1)
		return state, check, err
	}
	p.seats.occupy()
	context.AfterFunc(ctx, func() { p.company.Add(-1) })
	return nil, check, err
}

// prove tries what choose says, until one succeeds or nothing is left that is worth it.
func (p *Checker) check(ctx context.Context, answer Answer) (*cache.State, Check, error) {
	before, err := p.lane.State()
	if err != nil {
		return nil, byUpstream, err
	}
	if p.distrusted.Load() || p.defined.unreadable() {
		return nil, byUpstream, ErrUnproven
	}
	dear := p.isCostly(before, answer)
	if dear {
		p.wants(answer)
	}
	now := reading{}
	for tried := byUpstream; ; {
		switch tried = p.choose(before, answer, tried); tried {
		case byProbe:
			state, at, err := p.checkByProbe(ctx)
			if proven := err == nil || ctx.Err() != nil || at.store == nil; proven {
				return state, byProbe, err
			}
			now = at
			if dear {
				p.misses(at)
			}
		case byRollCall:
			if state, err := p.checkByRollCall(ctx, before.RV(), answer); err == nil || ctx.Err() != nil {
				return state, byRollCall, err
			}
		case byProgressWatch:
			state, err := p.checkByProgressWatch(ctx, now)
			return state, byProgressWatch, err
		case byUpstream, byFill: // of which choose returns the first
			if dear && !p.passOn(ctx, answer) {
				state, err := p.checkByProgressWatch(ctx, now)
				return state, byProgressWatch, err
			}
			return nil, byUpstream, ErrUnproven
		}
	}
}

// Reach brings the lane up to a resourceVersion that it may not have heard of because its resource is quiet. It returns
// when the lane is there; ErrAhead when the upstream is not; ErrUnproven when it could not be shown, or not for less
// than it takes the upstream to give the answer itself.
func (p *Checker) Reach(ctx context.Context, want cache.RV, answer Answer) error {
	if _, err := p.lane.WaitFor(ctx, want, grace); err == nil {
		return nil // almost always: the client read it, or wrote it, a moment ago
	}
	if p.distrusted.Load() {
		return ErrUnproven
	}
	p.company.Add(1)
	defer p.company.Add(-1)
	_, now, err := p.checkByProbe(ctx)
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
		if dear = p.isCostly(state, answer); dear {
			p.wants(answer)
			p.misses(now)
		}
		if p.mayCallRoll(state) {
			if _, err := p.checkByRollCall(ctx, 0, answer); err == nil && p.at(want) {
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
func (p *Checker) current(ctx context.Context) (reading, error) {
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
func (p *Checker) at(rv cache.RV) bool {
	state, err := p.lane.State()
	return err == nil && state.RV() >= rv
}
