package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// Reflector fills one lane, and is what a request reads it through. The zero value is not usable: Lanes makes it.
type Reflector struct {
	// Cache is the lane.
	Cache    *cache.Lane
	Resource upstream.Resource
	Encoding wire.Encoding // of the lane

	facts
	health
	background
	audited
	fill    fill
	writer  *writer
	checker *fresh.Checker
	kept    atomic.Bool  // to be dropped after all others
	used    atomic.Int64 // when the last request came, in nanoseconds after the lane was made
}

// StaleFor is how long the lane has not heard the upstream; 0 while its watch is open and the upstream answers.
func (r *Reflector) StaleFor() time.Duration { return r.staleFor(r.writer.client.Silent()) }

// AwaitSync waits until the lane is synced, has failed, or the wait is over; what came first is for the caller to look
// at. A lane that failed is waited for once it is being listed again.
func (r *Reflector) AwaitSync(ctx context.Context, wait time.Duration) {
	r.await(ctx, wait, func() bool {
		_, err := r.Cache.State()
		return err == nil
	})
}

// AwaitKind waits, as AwaitSync does, until the upstream was asked about the kind.
func (r *Reflector) AwaitKind(ctx context.Context, wait time.Duration) {
	r.await(ctx, wait, func() bool { return r.Kind() != nil })
}

// await waits until something that is announced has come about.
func (r *Reflector) await(ctx context.Context, wait time.Duration, came func() bool) {
	if came() {
		return // almost always, and without a lock
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		changed := r.change()
		if came() || r.idles() {
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

// Recent is a State that holds every write that was finished before the request arrived, as the upstream was asked to
// prove, and how it was. fresh.ErrUnproven means that this could not be shown, or not for less than it takes the
// upstream to give the answer itself. ctx is the request's.
func (r *Reflector) Recent(ctx context.Context, arrived time.Time, answer fresh.Answer) (*cache.State, fresh.Check, error) {
	return r.checker.Recent(ctx, arrived, answer)
}

// Now is the upstream's resourceVersion at some moment after the call began; the lane need not have reached it.
func (r *Reflector) Now(ctx context.Context) (cache.RV, error) { return r.checker.Now(ctx) }

// Reach brings the lane up to a resourceVersion that it may not have heard of because its resource is quiet. It returns
// when the lane is there; fresh.ErrAhead when the upstream is not, fresh.ErrUnproven when it could not be shown, or not
// for less than it takes the upstream to give the answer itself.
func (r *Reflector) Reach(ctx context.Context, rv cache.RV, answer fresh.Answer) error {
	return r.checker.Reach(ctx, rv, answer)
}

// Advance lets the lane be brought to what the upstream has now, which takes up to two seconds if it is quiet, and
// returns that version. It waits for a probe, and no longer; fresh.ErrUnproven means that the lane cannot be brought
// there. ctx is the watch's whose bookmark is to say so.
func (r *Reflector) Advance(ctx context.Context) (cache.RV, error) { return r.checker.Advance(ctx) }

// ProgressWatch implements fresh.Filler.
func (r *Reflector) ProgressWatch(ctx context.Context) { r.writer.progressWatch(ctx) }

// SetBack implements fresh.Filler.
func (r *Reflector) SetBack() { r.writer.contradict(errRestored) }

// Contradicted implements fresh.Filler.
func (r *Reflector) Contradicted() { r.writer.contradict(errContradicted) }

func (r *Reflector) touch() { r.used.Store(int64(time.Since(r.began))) }

// idleFor is how long ago the last request came.
func (r *Reflector) idleFor() time.Duration {
	return time.Since(r.began) - time.Duration(r.used.Load())
}

// refusedFor is how long a refusal is believed; then the next request makes the facade ask again.
const refusedFor = 5 * time.Second

// tooLargeFor is how long a resource is taken to be larger than it may be: to find out costs a list.
const tooLargeFor = 30 * time.Minute

// overdue tells whether the lane ended, and whether it is time to try again: at once if the resource is known to have
// changed. When there may be memory for a lane its room knows.
func (r *Reflector) overdue(now upstream.Resource) bool {
	f := r.Failure()
	if f == nil || !f.Refused {
		return false
	}
	if f.TooLarge() {
		return r.Resource != now || time.Since(f.When) > tooLargeFor
	}
	return r.Resource != now || errors.Is(f.Err, errRedefined) || errors.Is(f.Err, ErrNoMemory) || time.Since(f.When) > refusedFor
}
