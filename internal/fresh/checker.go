package fresh

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
)

const (
	// grace is how long a check waits for events in transit. The upstream usually sends an event in less than 5 ms.
	grace = 20 * time.Millisecond
	// shortGrace replaces grace for a lane that changes rarely, because only the lane's last change can be in transit.
	shortGrace = 5 * time.Millisecond
)

// Checkers makes the Checker of each lane of one upstream. It contains the state that all these Checkers share.
type Checkers struct {
	metrics Metrics
	seats   *questionSeats
	readers *atomic.Int64 // readers that wait for a check or for a small forwarded answer
	stores  *stores
	demand  *demand
}

// NewCheckers returns the Checkers for the lanes of one upstream. uncached is a resource that the upstream reads from
// etcd, or nil. start runs work for all lanes in the background, and returns false if the lanes are stopping.
func NewCheckers(upstream Upstream, uncached Source, metrics Metrics,
	start func(work func(context.Context)) bool) *Checkers {
	c := &Checkers{metrics: metrics, seats: newQuestionSeats(), readers: new(atomic.Int64), demand: newDemand()}
	c.stores = &stores{layout: newLayout(upstream), uncached: uncached}
	c.stores.make = func(uncached Source) *store { return newStore(metrics, sharedSize, uncached, start) }
	return c
}

// Options are the parameters of a Checker.
type Options struct {
	Lane   *cache.Lane
	Source Source
	Filler Filler
	// Resource is the plural name under which the upstream stores the objects of the lane.
	Resource string
	// Definition is the definition of a custom resource; nil for a built-in resource.
	Definition Definition
	// ReadFromEtcd is set if the upstream has no watch cache for the resource, and so sends no bookmarks (semantics 4.1).
	ReadFromEtcd bool
}

// Checker finds out the upstream's current resourceVersion and checks that one lane has reached it (semantics 10.5).
// The writer of the lane calls Changed, Synced, Interrupted, Distrust and Replaced. All other methods are safe for
// concurrent use, except KeepUp.
type Checker struct {
	lane         *cache.Lane
	filler       Filler
	resource     string
	readFromEtcd bool

	metrics         Metrics
	seats           *questionSeats
	readers         *atomic.Int64 // Checkers.readers
	membership      *membership
	defined         defined
	rolls           rolls
	progressWatches progressWatches
	rate            rate
	synced          atomic.Pointer[time.Time] // time when the lane's last consistent list was requested
	trust           *trust
	completeAt      atomic.Pointer[time.Time] // time when the lane was last known to be complete
	demand          *demand                   // shared by the lanes of one upstream
	wanted          atomic.Pointer[time.Time] // time of the last costly read; nil before the first
	credit          atomic.Int64              // CPU time of the upstream that KeepUp may still use, in nanoseconds
	forwarded       atomic.Int64              // estimated CPU time of forwarded answers in progress, in nanoseconds
	unaccounted     cache.RV                  // version that no lane had received in the last run of KeepUp; 0: none
}

// Checker returns a new Checker for a lane.
func (c *Checkers) Checker(o Options) *Checker {
	checker := &Checker{
		lane: o.Lane, filler: o.Filler, resource: o.Resource, readFromEtcd: o.ReadFromEtcd,
		metrics: c.metrics, seats: c.seats, readers: c.readers, demand: c.demand, trust: newTrust(),
	}
	checker.rate.since = time.Now()
	checker.membership = &membership{source: o.Source, stores: c.stores, own: newOwnStore(c.metrics, o.Filler.Start)}
	checker.defined = newDefined(o, c.metrics)
	checker.rolls.questions = newGroupCommit(c.seats, o.Filler.Start, checker.callRoll)
	return checker
}

// Changed records that a change was written to the lane. Calls of Changed must not overlap.
func (c *Checker) Changed(rv cache.RV) {
	now := time.Now()
	c.rate.note(now)
	c.completeAt.Store(&now)
	c.membership.seek(c.filler.Start)
	c.membership.store().account.note(c.resource, rv)
}

// Synced records that the lane was filled from a consistent list that was requested at the given time.
func (c *Checker) Synced(asked time.Time) {
	c.synced.Store(&asked)
	c.completeAt.Store(&asked)
}

// Interrupted records that the lane's watch ended, or that the lane stops. Before the next watch, the upstream may be
// restored from a backup. It then assigns versions again that the lane has already received. The upstream may also be
// restarted with another etcd for the resource.
func (c *Checker) Interrupted() {
	c.membership.leave()
	c.membership.stores.interrupted()
}

// Now returns the upstream's resourceVersion at some moment after the call began. The lane has possibly not reached
// this version.
func (c *Checker) Now(ctx context.Context) (cache.RV, error) {
	c.readers.Add(1)
	defer c.readers.Add(-1)
	if c.defined.unreadable() {
		return 0, ErrUnproven
	}
	reading, err := c.current(ctx)
	if err == nil {
		err = c.defined.confirm(ctx)
	}
	return reading.rv, err
}

// Recent returns a State that includes every write finished before the request arrived, and the freshness check that
// confirmed this. It returns ErrUnproven if no check could confirm a State at a lower cost than the upstream's own
// answer. The caller then forwards the request. It returns ErrContradicted if the lane is contradicted. ctx is the
// request's context: a forwarded small read counts as a waiting reader until ctx ends.
func (c *Checker) Recent(ctx context.Context, arrived time.Time, answer Answer) (*cache.State, Check, error) {
	if synced := c.synced.Load(); synced != nil && arrived.Before(*synced) {
		state, err := c.filled(ctx)
		return state, byFill, err
	}
	c.membership.seek(c.filler.Start)
	c.readers.Add(1)
	state, check, err := c.check(ctx, answer)
	if err == nil || !answer.Small() {
		c.readers.Add(-1)
		return state, check, err
	}
	c.seats.occupy()
	context.AfterFunc(ctx, func() { c.readers.Add(-1) })
	return nil, check, err
}

// filled returns the State of a lane that was filled after a request arrived. It confirms only the definition.
// Meanwhile, another reader's check may contradict the lane.
func (c *Checker) filled(ctx context.Context) (*cache.State, error) {
	began := c.trust.present.Load()
	state, err := c.lane.State()
	switch {
	case err != nil:
		return nil, err
	case c.Contradicted():
		return nil, ErrContradicted
	case c.defined.unreadable() || c.defined.confirm(ctx) != nil:
		return nil, ErrUnproven
	case c.trust.doubts(began):
		return nil, ErrContradicted
	}
	return state, nil
}

// check runs freshness checks, and confirms the definition. Meanwhile, another reader's check may contradict the lane.
func (c *Checker) check(ctx context.Context, answer Answer) (*cache.State, Check, error) {
	began := c.trust.present.Load()
	state, check, err := c.runChecks(ctx, answer)
	if err == nil {
		err = c.defined.confirm(ctx)
	}
	if err == nil && c.trust.doubts(began) {
		err = ErrContradicted
	}
	return state, check, err
}

// runChecks runs the checks that choose returns, until one succeeds or no further check is worth its price.
func (c *Checker) runChecks(ctx context.Context, answer Answer) (*cache.State, Check, error) {
	before, err := c.lane.State()
	if err != nil {
		return nil, byUpstream, err
	}
	switch {
	case c.Contradicted():
		return nil, byUpstream, ErrContradicted
	case c.defined.unreadable():
		return nil, byUpstream, ErrUnproven
	}
	costly := c.isCostly(before, answer)
	if costly {
		c.noteWanted(answer)
	}
	now := reading{}
	for tried := byUpstream; ; {
		switch tried = c.choose(before, answer, tried); tried {
		case byProbe:
			state, at, err := c.checkByProbe(ctx)
			if final := err == nil || ctx.Err() != nil || at.store == nil; final {
				return state, byProbe, err
			}
			now = at
			if costly {
				c.noteMissed(at)
			}
		case byRollCall:
			state, err := c.checkByRollCall(ctx, answer)
			switch {
			case err == nil || ctx.Err() != nil || errors.Is(err, ErrContradicted):
				return state, byRollCall, err
			case c.Contradicted(): // by another reader's check
				return nil, byRollCall, ErrContradicted
			}
		case byProgressWatch:
			state, err := c.checkByProgressWatch(ctx, now)
			return state, byProgressWatch, err
		case byUpstream, byFill: // choose never returns byFill
			if answer.isCostly() && !c.forward(ctx, answer) {
				state, err := c.checkByProgressWatch(ctx, now)
				return state, byProgressWatch, err
			}
			return nil, byUpstream, ErrUnproven
		}
	}
}

// Reach brings the lane up to a resourceVersion that it has possibly not received because its resource is quiet. It
// returns nil when the lane has reached that version, and ErrAhead if the upstream has not reached it. It returns
// ErrUnproven if no check could bring the lane there at a lower cost than the upstream's own answer. It returns
// ErrContradicted if the lane is contradicted. It may return nil for a contradicted lane that has reached that version.
func (c *Checker) Reach(ctx context.Context, want cache.RV, answer Answer) error {
	if _, err := c.lane.WaitFor(ctx, want, grace); err == nil {
		return nil // the usual case: the client read or wrote the version a moment ago
	}
	began := c.trust.present.Load()
	if c.Contradicted() {
		return ErrContradicted
	}
	c.readers.Add(1)
	defer c.readers.Add(-1)
	err := c.reach(ctx, want, answer)
	if errors.Is(err, errForwarded) {
		return err // not ErrContradicted, for which the caller would count the answer a second time (Forwards)
	}
	if (err == nil || errors.Is(err, ErrUnproven)) && c.trust.doubts(began) {
		return ErrContradicted
	}
	return err
}

func (c *Checker) reach(ctx context.Context, want cache.RV, answer Answer) error {
	_, now, err := c.checkByProbe(ctx)
	switch {
	case now.store == nil:
		return err
	case now.rv < want:
		return ErrAhead // the upstream has not reached this version, so no check can help
	case err == nil:
		return nil
	}
	if state, err := c.lane.State(); err == nil {
		if c.isCostly(state, answer) {
			c.noteWanted(answer)
			c.noteMissed(now)
		}
		if c.mayCallRoll(state) {
			_, err := c.checkByRollCall(ctx, answer)
			switch {
			case c.Contradicted() || errors.Is(err, ErrContradicted):
				return ErrContradicted
			case err == nil && c.hasReached(want):
				return nil
			}
		}
	}
	if !answer.Small() || answer.isCostly() && !c.forward(ctx, answer) {
		return c.bring(ctx, want)
	}
	return errForwarded
}

func (c *Checker) current(ctx context.Context) (reading, error) {
	began := c.trust.present.Load() // loaded first, so that it is not newer than the State
	before, err := c.lane.State()
	if err != nil {
		return reading{}, err
	}
	now, err := c.membership.current(ctx, before.RV())
	if err == nil && now.rv < before.RV() {
		return reading{}, c.trust.distrust(began, ErrSetBack)
	}
	return now, err
}

func (c *Checker) hasReached(rv cache.RV) bool {
	state, err := c.lane.State()
	return err == nil && state.RV() >= rv
}
