package upstream

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
)

var (
	// ErrUnproven says that the lane could not be shown to hold everything up to the wanted resourceVersion, at which the
	// upstream is or may be.
	ErrUnproven = errors.New("the cache could not be proven fresh")
	// ErrAhead says that the wanted resourceVersion lies above the upstream's.
	ErrAhead = errors.New("the resourceVersion lies in the future")
)

// Patience is how much a caller invests in a proof.
type Patience int

const (
	// Shared takes a proof that others need, too, or that comes by itself: for a caller whose answer costs the upstream no more
	// than a question.
	Shared Patience = iota
	// Brief asks one question: for a caller whose answer costs the upstream more, but less than a fence.
	Brief
	// Full opens a fence, a second watch that brings a quiet lane up to date in about a second (semantics 10.3).
	Full
)

const (
	// grace is how long is waited for an event that is on its way: the upstream's dispatch and one loopback hop are under 5 ms.
	grace = 20 * time.Millisecond
	// shortGrace is that of a lane that changes seldom: only its last change may be on its way.
	shortGrace = 5 * time.Millisecond
)

// proofs is what the lanes of one upstream share to prove themselves fresh.
type proofs struct {
	pace   *pace
	stores *stores
}

func newProofs(client *Client, metrics Metrics, start func(func(context.Context)) bool) *proofs {
	p := &proofs{pace: &pace{}}
	p.stores = &stores{layout: &layout{client: client}, make: func() *store { return newStore(client, metrics, p.pace, start) }}
	return p
}

// freshness proves for one lane what the upstream's current resourceVersion is and that the lane has reached it
// (semantics 10.5). There are three proofs, each shared by all who wait: a probe, when the lane turns out to be there or gets
// there by events that come anyway; a roll call, for a lane of few objects; and a fence.
type freshness struct {
	lane       *Lane
	client     *Client
	metrics    Metrics
	pace       *pace
	membership *membership
	rolls      *groupCommit[*rollCall]
	rhythm     rhythm
	readers    atomic.Int64              // who wait for this lane, or for the upstream's answer in its place
	silent     atomic.Int64              // unix nanoseconds until when no fence is opened, because one brought nothing
	mute       atomic.Int64              // unix nanoseconds until when no roll is called, because one failed
	synced     atomic.Pointer[time.Time] // when the lane's last list, which was a consistent read, was asked for
	patrol     patrol
}

func newFreshness(lane *Lane, client *Client, metrics Metrics, shared *proofs) *freshness {
	start := func(work func(context.Context)) bool { return lane.start(func() { work(lane.life) }) }
	f := &freshness{lane: lane, client: client, metrics: metrics, pace: shared.pace}
	f.membership = &membership{
		resource: &lane.Resource, stores: shared.stores, own: newStore(client, metrics, shared.pace, start),
	}
	f.rolls = newGroupCommit(shared.pace, start, f.callRoll)
	return f
}

// now is current on behalf of a reader.
func (f *freshness) now(ctx context.Context) (cache.RV, error) {
	f.pace.enter()
	defer f.pace.leave()
	return f.current(ctx)
}

// recent is a State with every write that was finished before the request arrived.
func (f *freshness) recent(ctx context.Context, arrived time.Time, patience Patience) (*cache.State, error) {
	if synced := f.synced.Load(); synced != nil && arrived.Before(*synced) {
		return f.lane.Cache.State() // the request that made the lane start, and those that waited with it
	}
	f.enter()
	state, err := f.prove(ctx, patience)
	if err != nil && patience != Full {
		context.AfterFunc(ctx, f.leave) // until the request is over the upstream is busy with it
	} else {
		f.leave()
	}
	return state, err
}

// enter counts a reader in, as one of all lanes and as one of this; the caller leaves.
func (f *freshness) enter() {
	f.pace.enter()
	f.readers.Add(1)
}

func (f *freshness) leave() {
	f.readers.Add(-1)
	f.pace.leave()
}

func (f *freshness) prove(ctx context.Context, patience Patience) (*cache.State, error) {
	before, err := f.lane.Cache.State()
	if err != nil {
		return nil, err
	}
	busy := f.rhythm.busy(time.Now())
	if patience == Shared && !busy && f.pace.alone() {
		return nil, ErrUnproven
	}
	if !busy && f.callable() {
		if state, err := f.attend(ctx, before.RV()); err == nil || ctx.Err() != nil {
			return state, err
		}
	}
	if patience == Shared && !busy {
		return nil, ErrUnproven // a probe tells of versions that a quiet lane has not heard of
	}
	rv, err := f.current(ctx)
	if err != nil {
		return nil, err
	}
	wait := grace
	if !busy {
		wait = shortGrace
	}
	if state, err := f.lane.Cache.WaitFor(ctx, rv, wait); err == nil && f.holds(state, rv) {
		return state, nil
	}
	if patience != Full {
		return nil, ErrUnproven
	}
	if busy && f.callable() { // it no longer is: nothing came
		if state, err := f.attend(ctx, before.RV()); err == nil || ctx.Err() != nil {
			return state, err
		}
	}
	if err := f.bring(ctx, rv); err != nil {
		return nil, err
	}
	return f.lane.Cache.State()
}

// reach brings the lane to want.
func (f *freshness) reach(ctx context.Context, want cache.RV, patience Patience) error {
	if _, err := f.lane.Cache.WaitFor(ctx, want, grace); err == nil {
		return nil // almost always: the client read it, or wrote it, a moment ago
	}
	f.enter()
	defer f.leave()
	rv, err := f.current(ctx)
	if err != nil {
		return err
	}
	if rv < want {
		return ErrAhead // only time can bring it
	}
	if f.callable() {
		if _, err := f.attend(ctx, 0); err == nil && f.lane.at(want) {
			return nil
		}
	}
	if patience != Full {
		return ErrUnproven
	}
	return f.bring(ctx, want)
}

// current is the upstream's resourceVersion at some moment after the call began.
func (f *freshness) current(ctx context.Context) (cache.RV, error) {
	before, err := f.lane.Cache.State()
	if err != nil {
		return 0, err
	}
	rv, err := f.membership.current(ctx, before.RV())
	if err == nil && rv < before.RV() {
		f.lane.reader.setBack()
		err = errRestored
	}
	return rv, err
}

// holds tells whether a State has every change up to rv. Of deletions at rv itself an uncached resource may have more than one
// (semantics 4.4), and the next may be on its way.
func (f *freshness) holds(s *cache.State, rv cache.RV) bool {
	if s.RV() == rv && f.lane.Resource.ReadFromEtcd() {
		return f.lane.reader.deletion.Load() < uint64(rv)
	}
	return s.RV() >= rv
}

// at tells whether the lane is complete up to rv.
func (l *Lane) at(rv cache.RV) bool {
	state, err := l.Cache.State()
	return err == nil && state.RV() >= rv
}
