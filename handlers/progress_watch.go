package handlers

import (
	"context"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/reflector"
)

const (
	// progressWatchLife is how long a watch lasts at the most that is opened for its bookmark alone: a facade's fence, for
	// which it is the shortest that kube-apiserver sends a bookmark on (semantics 10.3).
	progressWatchLife = 3 * time.Second
	// awaitedEvery is how often it is looked whether the lane is where the bookmark is wanted, and awaitedUntil how long
	// before the end of the watch the bookmark is sent all the same.
	awaitedEvery = 20 * time.Millisecond
	awaitedUntil = 200 * time.Millisecond
	// advanceWait is how long the watch waits before it begins until it is known what that version is.
	advanceWait = time.Second
)

// awaited is the version that a watch's bookmark waits for. The zero value waits for none.
type awaited struct {
	version cache.RV
	until   time.Time // no longer than that
}

// awaits makes the bookmark of a watch that is opened for it be of what the upstream has now: kube-apiserver brings its
// cache there for whoever reads consistently, which the client of such a watch does beside it, and here that read may
// have been passed on.
func (s *watchStream) awaits(ctx context.Context, lane *reflector.Reflector, end time.Time) {
	ctx, cancel := context.WithTimeout(ctx, advanceWait)
	defer cancel()
	if version, err := lane.Advance(ctx); err == nil {
		s.awaited = awaited{version: version, until: end.Add(-awaitedUntil)}
	}
}

// before tells whether the bookmark waits, now that the watch is at a version.
func (a awaited) before(at cache.RV) bool { return at < a.version && time.Now().Before(a.until) }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
