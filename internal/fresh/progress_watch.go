package fresh

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
)

const (
	// progressWatchWait is how long a fence may take: a bookmark comes after up to 2.25 s, and may be of just before.
	progressWatchWait = 4 * time.Second
	// progressWatchPause is how long no fence is opened after one that brought nothing: an upstream may know no bookmarks
	// at all.
	progressWatchPause = 10 * time.Second
	// progressWatchEvery is how far fences are apart: kube-apiserver looks for due bookmarks once a second.
	progressWatchEvery = time.Second
	// progressWatchesFor is how long fences are opened after one was wanted: who lists a large resource does it again.
	progressWatchesFor = 10 * time.Second
)

// fences of one lane are opened one after the other while they are wanted, so that a bookmark is due whenever
// kube-apiserver looks: a reader waits half a second for it, where a fence of its own would take one.
type progressWatches struct {
	notBefore  atomic.Pointer[time.Time] // until when no fence is opened, because one brought nothing
	catchingUp atomic.Bool               // a fence that nobody waits for is open
	catchUpAt  atomic.Pointer[time.Time] // until when no such fence is opened, because one brought nothing

	mu     sync.Mutex // guards the rest
	wanted time.Time
	opened bool // openProgressWatches runs
}

// wantProgressWatches lets fences be opened from now on; false when the lane is stopping.
func (p *Checker) wantProgressWatches() bool {
	f := &p.progressWatches
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = time.Now()
	if !f.opened {
		f.opened = p.filler.Start(p.openProgressWatches)
	}
	return f.opened
}

// stillWanted tells whether fences go on; when they do not, whoever wants one starts them again.
func (f *progressWatches) stillWanted(ctx context.Context) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = ctx.Err() == nil && time.Since(f.wanted) < progressWatchesFor
	return f.opened
}

func (p *Checker) openProgressWatches(ctx context.Context) {
	var fences sync.WaitGroup
	defer fences.Wait()
	tick := time.NewTicker(progressWatchEvery)
	defer tick.Stop()
	for p.progressWatches.stillWanted(ctx) {
		fences.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, progressWatchWait)
			defer cancel()
			p.metrics.Questioned("progress-watch")
			p.filler.ProgressWatch(ctx)
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// checkByProgressWatch brings the lane to the upstream's version of now, as it was read or as it has to be read yet.
func (p *Checker) checkByProgressWatch(ctx context.Context, now reading) (*cache.State, error) {
	if now.store == nil {
		state, at, err := p.checkByProbe(ctx)
		if err == nil || at.store == nil {
			return state, err
		}
		now = at
	}
	if err := p.bring(ctx, now.rv); err != nil {
		return nil, err
	}
	return p.lane.State()
}

// bring makes the lane reach rv by a fence. Meanwhile this very resource is probed: kube-apiserver brings its cache up
// to date for that, and its bookmark would lie below what is wanted otherwise (semantics 10.2).
func (p *Checker) bring(ctx context.Context, rv cache.RV) error {
	if _, err := p.byProgressWatch(ctx); err != nil {
		return err
	}
	if _, err := p.lane.WaitFor(ctx, rv, progressWatchWait); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	until := time.Now().Add(progressWatchPause)
	p.progressWatches.notBefore.Store(&until)
	return ErrUnproven
}

// fence lets fences be opened, and probes the resource itself. Its version is 0 when that fails: the bookmark proves
// less then, and is looked at.
func (p *Checker) byProgressWatch(ctx context.Context) (cache.RV, error) {
	if p.readFromEtcd || !isPast(p.progressWatches.notBefore.Load()) {
		return 0, ErrUnproven // without bookmarks a fence would prove nothing
	}
	if !p.wantProgressWatches() {
		return 0, errOver
	}
	ctx, cancel := context.WithTimeout(ctx, progressWatchWait)
	defer cancel()
	now, _ := p.membership.own.current(ctx, p.membership.source)
	return now.rv, nil
}

// catchUp brings the lane, by one fence in the background, to what the upstream has now. It is for a lane whose next
// reader is to be proven by a probe, when this one could not be.
func (p *Checker) catchUp() {
	if p.readFromEtcd || !isPast(p.progressWatches.notBefore.Load()) || !isPast(p.progressWatches.catchUpAt.Load()) || !p.progressWatches.catchingUp.CompareAndSwap(false, true) {
		return
	}
	if !p.filler.Start(p.openProgressWatch) {
		p.progressWatches.catchingUp.Store(false)
	}
}

// openProgressWatch opens a fence, and probes the resource as bring does. One that brings the lane nowhere is not
// followed by another for a while; readers may still open theirs.
func (p *Checker) openProgressWatch(ctx context.Context) {
	defer p.progressWatches.catchingUp.Store(false)
	ctx, cancel := context.WithTimeout(ctx, progressWatchWait)
	defer cancel()
	var fence sync.WaitGroup
	fence.Go(func() {
		p.metrics.Questioned("progress-watch")
		p.filler.ProgressWatch(ctx)
	})
	now, err := p.membership.own.current(ctx, p.membership.source)
	fence.Wait()
	if err != nil {
		return
	}
	if _, err := p.lane.WaitFor(ctx, now.rv, grace); err != nil { // the writer may be about to apply what it has taken
		until := time.Now().Add(progressWatchPause)
		p.progressWatches.catchUpAt.Store(&until)
	}
}

// Advance lets the lane itself be brought, by a fence, to what the upstream has now, and returns that version. It does
// not wait for the fence. It is for who is told by a bookmark how far the lane is, as the fence of a facade behind this
// one: what readers are shown may lie above that (cache.Lane.Vouch). ErrUnproven means that it cannot be brought there.
func (p *Checker) Advance(ctx context.Context) (cache.RV, error) {
	if p.distrusted.Load() {
		return 0, ErrUnproven
	}
	return p.byProgressWatch(ctx)
}

// isPast tells whether a moment is over; that of nil is.
func isPast(moment *time.Time) bool { return moment == nil || !time.Now().Before(*moment) }
