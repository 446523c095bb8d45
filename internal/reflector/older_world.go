package reflector

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
)

// olderWorld contains the smallest resourceVersion after which all events are of the lane's cluster and in the lane's
// representation. A client below this version has to list again, even if the upstream still has the events.
type olderWorld struct {
	from   atomic.Uint64 // 0 if versions before the lane's first list are accepted, too
	epochs uint64        // epochs of the lane so far; used only by the writer
	// follows is set if the previous lane of the resource ended because its definition changed.
	follows bool
}

// floor returns the smallest accepted resourceVersion.
func (s *olderStore) floor() cache.RV { return cache.RV(s.world.from.Load()) }

// noteWorld raises floor to the version of a list that has begun a new epoch, because objects may have been different
// before. For the first epoch of a lane, it usually accepts all versions, because kube-apiserver itself would serve
// them. A replayed lost window begins no epoch.
func (w *writer) noteWorld() {
	lane, world := w.lane.Cache, &w.lane.older.world
	epochs := lane.Epochs()
	if epochs == world.epochs {
		return
	}
	isFirst := world.epochs == 0
	world.epochs = epochs
	if first, ok := lane.Oldest(); ok && (!isFirst || world.follows || w.publisher.otherPasts.Load() != 0) {
		world.from.Store(uint64(first))
	}
}

// clustersSeen records whether this process has filled lanes from more than one cluster. Safe for concurrent use.
type clustersSeen struct {
	mu      sync.Mutex // guards the fields below
	first   string
	several bool
}

// note records the cluster of a list. An unknown cluster counts as the first cluster.
func (c *clustersSeen) note(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first = cmp.Or(c.first, uid)
	c.several = c.several || uid != "" && uid != c.first
}

// areSeveral reports whether a client may have versions of another cluster than the lanes.
func (c *clustersSeen) areSeveral() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.several
}

type epochWorld struct {
	listWatch *listWatch
	origin    *origin
	state     *cache.State
	epoch     uint64
}

// worldNow returns the lane's epoch. It waits until the epoch's origin is known, which is soon after the State is
// visible. It returns an error if events above the given version may be of another cluster or representation.
func (r *Reflector) worldNow(ctx context.Context, after cache.RV) (epochWorld, error) {
	now := epochWorld{origin: r.origin.Load()}
	if err := now.origin.await(ctx); err != nil {
		return now, err
	}
	var err error
	if now.state, err = r.Cache.State(); err != nil {
		return now, err
	}
	now.listWatch, now.epoch = r.synced.Load(), r.Cache.Epochs()
	switch {
	case now.listWatch == nil || r.origin.Load() != now.origin:
		return now, fmt.Errorf("%w: the lane is being listed", errNotOlder)
	case after < r.older.floor():
		return now, fmt.Errorf("%w: at resourceVersion %d, the cluster or the representation may have been different", errNotOlder, after)
	case r.older.clusters.areSeveral():
		return now, fmt.Errorf("%w: this process has read from more than one cluster", errNotOlder)
	}
	return now, nil
}

// isStill returns an error if the lane's epoch or its upstream has changed. opened is when a watch was opened; the
// upstream is identified after that.
func (was *epochWorld) isStill(ctx context.Context, r *Reflector, opened time.Time) error {
	version, cluster := r.writer.check.versions.since(ctx, opened), r.writer.check.clusters.since(ctx, opened)
	switch {
	case version != "" && was.origin.version != "" && version != was.origin.version:
		return fmt.Errorf("%w: %q instead of %q", errReplaced, version, was.origin.version)
	case cluster != "" && was.origin.cluster != "" && cluster != was.origin.cluster:
		return fmt.Errorf("%w: %s instead of %s", errElsewhere, cluster, was.origin.cluster)
	}
	if r.Resource.Custom {
		if err := r.Confirm(ctx); err != nil {
			return err
		}
	}
	if r.Cache.Epochs() != was.epoch || r.synced.Load() != was.listWatch {
		return fmt.Errorf("%w: the lane was listed again", errNotOlder)
	}
	return nil
}
