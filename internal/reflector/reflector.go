package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
)

// Reflector fills one lane and serves its reads. Only Lanes makes usable Reflectors.
type Reflector struct {
	*lane
	background
	audited
	writer      *writer
	checker     *fresh.Checker
	definitions *definitions
	kept        atomic.Bool  // whether the lane, once filled, is dropped last when memory is needed
	used        atomic.Int64 // time of the last use, in nanoseconds after the lane was made
}

// StaleFor returns how long the lane has received nothing from the upstream. It returns 0 while the lane's watch is
// open and the upstream responds.
func (r *Reflector) StaleFor() time.Duration { return r.staleFor(r.client.Silent()) }

// AwaitSync waits until the lane is synced, for at most wait. It returns early if the lane has ended, or has failed and
// is not being listed again. The caller has to check whether the lane is synced.
func (r *Reflector) AwaitSync(ctx context.Context, wait time.Duration) {
	r.await(ctx, wait, func() bool {
		_, err := r.Cache.State()
		return err == nil
	})
}

// AwaitKind waits, as AwaitSync does, until the kind is known.
func (r *Reflector) AwaitKind(ctx context.Context, wait time.Duration) {
	r.await(ctx, wait, func() bool { return r.Kind() != nil })
}

// AwaitRelist waits, as AwaitSync does, until the lane is not contradicted.
func (r *Reflector) AwaitRelist(ctx context.Context, wait time.Duration) {
	r.await(ctx, wait, func() bool { return !r.Contradicted() })
}

// await waits, as AwaitSync does, until happened returns true. It calls happened again after each change of the lane's
// Kind or Failure.
func (r *Reflector) await(ctx context.Context, wait time.Duration, happened func() bool) {
	if happened() {
		return // the usual case, without a lock
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		changed := r.change()
		if happened() || r.idles() {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-r.done:
			return
		}
	}
}

// Recent returns a State that includes every write finished before the request arrived, and the freshness check that
// confirmed this. It returns fresh.ErrUnproven if no check could confirm a State at a lower cost than the upstream's
// own answer. It returns fresh.ErrContradicted if the lane is contradicted. ctx is the request's context.
func (r *Reflector) Recent(ctx context.Context, arrived time.Time,
	answer fresh.Answer) (*cache.State, fresh.Check, error) {
	return r.checker.Recent(ctx, arrived, answer)
}

// Now returns the upstream's resourceVersion at some moment after the call began. The lane may not have reached it yet.
func (r *Reflector) Now(ctx context.Context) (cache.RV, error) { return r.checker.Now(ctx) }

// Reach brings the lane up to a resourceVersion that the lane may lack because its resource is quiet. It returns nil
// when the lane has reached that version, and fresh.ErrAhead if the upstream has not reached it. It returns
// fresh.ErrUnproven if no check could bring the lane there at a lower cost than the upstream's own answer. It returns
// fresh.ErrContradicted if the lane is contradicted. It may return nil for a contradicted lane.
func (r *Reflector) Reach(ctx context.Context, rv cache.RV, answer fresh.Answer) error {
	return r.checker.Reach(ctx, rv, answer)
}

// Advance starts to bring the lane to the upstream's current version, and returns that version. It waits only for a
// probe; the lane may need up to two seconds more. It returns fresh.ErrUnproven if the lane cannot be brought to that
// version. If the probe fails, it returns 0 and no error.
func (r *Reflector) Advance(ctx context.Context) (cache.RV, error) { return r.checker.Advance(ctx) }

// Contradicted reports whether a freshness check or the writer has found that the lane is wrong, and the lane has not
// been listed again. The lane must not answer then, except reads that accept any State.
func (r *Reflector) Contradicted() bool { return r.checker.Contradicted() }

// Listing returns the list that the lane is filled from at present.
func (r *Reflector) Listing() *fresh.Listing { return r.checker.Listing() }

// Doubts reports whether a State that was read after Listing returned l is possibly wrong.
func (r *Reflector) Doubts(l *fresh.Listing) bool { return r.checker.Doubts(l) }

// Forwards reports whether the upstream may answer a read in place of a contradicted lane. It returns false if too many
// costly answers are in progress. ctx is the request's context.
func (r *Reflector) Forwards(ctx context.Context, answer fresh.Answer) bool {
	return r.checker.Forwards(ctx, answer)
}

// OlderBytes returns the memory of the events from before the lane's history, in bytes.
func (r *Reflector) OlderBytes() int64 { return r.older.bytes.Load() }

func (r *Reflector) stop() {
	r.background.stop()
	r.older.close()
}

func (r *Reflector) touch() { r.used.Store(int64(time.Since(r.began))) }

func (r *Reflector) idleFor() time.Duration {
	return time.Since(r.began) - time.Duration(r.used.Load())
}

// refusedFor is how long a lane that ended is not started again. Then the next request starts it.
const refusedFor = 5 * time.Second

// tooLargeFor is how long a resource counts as too large after its lane ended. Each new attempt costs a list.
const tooLargeFor = 30 * time.Minute

// overdue reports whether the lane ended and may be started again. If the definition of the resource has changed, the
// lane may be started immediately. It may also be started if memory was lacking; memoryAdmission then decides when.
func (r *Reflector) overdue(now upstream.Resource) bool {
	f := r.Failure()
	if f == nil || !f.Refused {
		return false
	}
	if f.TooLarge() {
		return r.Resource != now || time.Since(f.When) > tooLargeFor
	}
	return r.Resource != now || errors.Is(f.Err, errRedefined) || errors.Is(f.Err, ErrNoMemory) ||
		time.Since(f.When) > refusedFor
}
