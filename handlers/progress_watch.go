package handlers

import (
	"context"
	"time"

	"github.com/listfacade/listfacade/cache"
)

const (
	// progressWatchLife is the lifetime of a progress watch, which another facade reads up to the first bookmark.
	// kube-apiserver sends no bookmark in a watch with a shorter lifetime (semantics 10.3).
	progressWatchLife = 3 * time.Second
	// awaitedEvery is the interval of checks whether the lane has reached the version of the awaited bookmark.
	// awaitedUntil is how long before the end of the watch the bookmark is sent in any case.
	awaitedEvery = 20 * time.Millisecond
	awaitedUntil = 200 * time.Millisecond
	// advanceWait is how long a progress watch may wait, before it begins, for the upstream's current resourceVersion.
	advanceWait = time.Second
)

// awaited is the version that the next bookmark of a watch must have. The zero value means any version.
type awaited struct {
	version cache.RV
	until   time.Time // end of the wait
}

// awaits delays the bookmark of a progress watch until the lane has the current resourceVersion of the upstream.
// kube-apiserver advances its cache to that version at each consistent read. The client of a progress watch makes such
// a read at the same time. The facade may have forwarded that read. A forwarded read does not advance the lane.
func (s *watchStream) awaits(ctx context.Context, lane Lane, end time.Time) {
	ctx, cancel := context.WithTimeout(ctx, advanceWait)
	defer cancel()
	if version, err := lane.Advance(ctx); err == nil {
		s.awaited = awaited{version: version, until: end.Add(-awaitedUntil)}
	}
}

// before reports whether the bookmark must wait while the watch is at the given version.
func (a awaited) before(at cache.RV) bool { return at < a.version && time.Now().Before(a.until) }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
