package fresh

import (
	"sync/atomic"
	"time"
)

// rate is how often a lane's resource changes. Calls of note must not overlap; busy is safe for concurrent use.
type rate struct {
	since    time.Time    // time when the lane's Checker was made
	last     atomic.Int64 // nanoseconds from since to the last change
	interval atomic.Int64 // nanoseconds between changes, smoothed over about the last eight
}

// busyInterval is the maximum interval between changes of a busy resource. A busy lane reaches a wanted version by
// itself, sooner than a check could confirm it.
const busyInterval = 10 * time.Millisecond

func (r *rate) note(now time.Time) {
	at := int64(now.Sub(r.since))
	interval := min(at-r.last.Load(), int64(time.Second))
	r.last.Store(at)
	r.interval.Store(r.interval.Load() + (interval-r.interval.Load())/8)
}

// busy reports whether the next change is likely to arrive within a few milliseconds.
func (r *rate) busy(now time.Time) bool {
	quiet := now.Sub(r.since) - time.Duration(r.last.Load())
	return quiet <= 2*busyInterval && 0 < r.interval.Load() && time.Duration(r.interval.Load()) <= busyInterval
}
