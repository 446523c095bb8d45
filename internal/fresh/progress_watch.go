package fresh

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
)

const (
	// progressWatchWait is the timeout of a progress watch. A bookmark arrives within 2.25 s, but its version may be lower
	// than the wanted one.
	progressWatchWait = 4 * time.Second
	// progressWatchPause is the time without new progress watches after a watch that made no progress. An upstream may
	// send no bookmarks at all.
	progressWatchPause = 10 * time.Second
	// progressWatchEvery is the interval between progress watches. kube-apiserver checks once a second which bookmarks are
	// due, so more watches would not be faster.
	progressWatchEvery = time.Second
	// progressWatchesFor is how long progress watches are opened after a reader last wanted one. Clients that list a large
	// resource tend to list it again.
	progressWatchesFor = 10 * time.Second
)

// progressWatches opens a progress watch of one lane every second while readers want them, so that a bookmark is due
// each time kube-apiserver checks. A reader then waits half a second on average, not one second.
type progressWatches struct {
	notBefore  atomic.Pointer[time.Time] // after a watch without progress, no watch is opened before this time
	catchingUp atomic.Bool               // whether a progress watch of catchUp is open
	catchUpAt  atomic.Pointer[time.Time] // after a watch without progress, catchUp opens no watch before this time

	mu     sync.Mutex // guards the rest
	wanted time.Time
	opened bool // whether openProgressWatches is running
}

// wantProgressWatches starts progress watches, or lets them continue. It returns false if the lane is stopping.
func (c *Checker) wantProgressWatches() bool {
	f := &c.progressWatches
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = time.Now()
	if !f.opened {
		f.opened = c.filler.Start(c.openProgressWatches)
	}
	return f.opened
}

// stillWanted reports whether progress watches continue. If not, the next call of wantProgressWatches starts them
// again.
func (f *progressWatches) stillWanted(ctx context.Context) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = ctx.Err() == nil && time.Since(f.wanted) < progressWatchesFor
	return f.opened
}

func (c *Checker) openProgressWatches(ctx context.Context) {
	var watches sync.WaitGroup
	defer watches.Wait()
	tick := time.NewTicker(progressWatchEvery)
	defer tick.Stop()
	for c.progressWatches.stillWanted(ctx) {
		watches.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, progressWatchWait)
			defer cancel()
			c.metrics.Questioned("progress-watch")
			c.filler.ProgressWatch(ctx)
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// checkByProgressWatch brings the lane to the upstream's version. now is an earlier reading of that version, or empty.
func (c *Checker) checkByProgressWatch(ctx context.Context, now reading) (*cache.State, error) {
	if now.store == nil {
		state, at, err := c.checkByProbe(ctx)
		if err == nil || at.store == nil {
			return state, err
		}
		now = at
	}
	if err := c.bring(ctx, now.rv); err != nil {
		return nil, err
	}
	return c.lane.State()
}

// bring brings the lane to rv by a progress watch. It also probes the lane's resource, because the probe makes
// kube-apiserver bring its cache up to date. Without the probe, the bookmark could be below rv (semantics 10.2).
func (c *Checker) bring(ctx context.Context, rv cache.RV) error {
	if _, err := c.byProgressWatch(ctx); err != nil {
		return err
	}
	if _, err := c.lane.WaitFor(ctx, rv, progressWatchWait); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	until := time.Now().Add(progressWatchPause)
	c.progressWatches.notBefore.Store(&until)
	return ErrUnproven
}

// byProgressWatch starts progress watches, and probes the lane's resource. It returns the version of the probe, or 0 if
// the probe fails. Without the probe, the bookmark of a progress watch may be too old, so the caller must check which
// version the lane reaches.
func (c *Checker) byProgressWatch(ctx context.Context) (cache.RV, error) {
	if c.readFromEtcd || !isPast(c.progressWatches.notBefore.Load()) {
		return 0, ErrUnproven // without bookmarks a progress watch shows nothing
	}
	if !c.wantProgressWatches() {
		return 0, errStopped
	}
	ctx, cancel := context.WithTimeout(ctx, progressWatchWait)
	defer cancel()
	now, _ := c.membership.own.current(ctx, c.membership.source)
	return now.rv, nil
}

// catchUp starts one progress watch in the background. A probe can then confirm the lane for the next reader.
func (c *Checker) catchUp() {
	if c.readFromEtcd || !isPast(c.progressWatches.notBefore.Load()) || !isPast(c.progressWatches.catchUpAt.Load()) ||
		!c.progressWatches.catchingUp.CompareAndSwap(false, true) {
		return
	}
	if !c.filler.Start(c.openProgressWatch) {
		c.progressWatches.catchingUp.Store(false)
	}
}

// openProgressWatch opens one progress watch for catchUp, and probes the resource as bring does. If the lane does not
// reach the probe's version, catchUp opens no progress watch for a while. Watches for waiting readers are not affected.
func (c *Checker) openProgressWatch(ctx context.Context) {
	defer c.progressWatches.catchingUp.Store(false)
	ctx, cancel := context.WithTimeout(ctx, progressWatchWait)
	defer cancel()
	var watch sync.WaitGroup
	watch.Go(func() {
		c.metrics.Questioned("progress-watch")
		c.filler.ProgressWatch(ctx)
	})
	now, err := c.membership.own.current(ctx, c.membership.source)
	watch.Wait()
	if err != nil {
		return
	}
	if _, err := c.lane.WaitFor(ctx, now.rv, grace); err != nil { // the writer may still apply the last events
		until := time.Now().Add(progressWatchPause)
		c.progressWatches.catchUpAt.Store(&until)
	}
}

// Advance starts a progress watch that brings the lane itself to the upstream's current version, and returns that
// version without waiting for the watch. It serves clients that read the lane's version from a bookmark, such as the
// progress watch of a facade behind this one. These clients need the lane's own version, because the version that
// readers see may be higher (cache.Lane.Vouch). It returns ErrUnproven if the lane is contradicted or progress watches
// are not possible. If the probe fails, it returns 0 and no error.
func (c *Checker) Advance(ctx context.Context) (cache.RV, error) {
	if c.Contradicted() {
		return 0, ErrUnproven
	}
	return c.byProgressWatch(ctx)
}

func isPast(moment *time.Time) bool { return moment == nil || !time.Now().Before(*moment) }
