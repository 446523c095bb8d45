package upstream

import (
	"sync/atomic"
	"time"
)

// rhythm is how often a lane's resource changes. One goroutine beats, any asks.
type rhythm struct {
	last atomic.Int64 // unix nanoseconds of the last change
	gap  atomic.Int64 // nanoseconds between changes, smoothed over about the last eight
}

// busyGap is how close the changes of a busy resource are: a proof then comes by itself, sooner than it can be fetched.
const busyGap = 10 * time.Millisecond

// beat takes note of a change.
func (r *rhythm) beat(now time.Time) {
	gap := min(now.UnixNano()-r.last.Load(), int64(time.Second))
	r.last.Store(now.UnixNano())
	r.gap.Store(r.gap.Load() + (gap-r.gap.Load())/8)
}

// busy tells whether the next change is likely to come at once.
func (r *rhythm) busy(now time.Time) bool {
	silence := time.Duration(now.UnixNano() - r.last.Load())
	return silence <= 2*busyGap && time.Duration(r.gap.Load()) <= busyGap
}
