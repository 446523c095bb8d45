package fresh

import (
	"sync/atomic"
	"time"
)

// rate is how often a lane's resource changes. One goroutine takes notes, any asks.
type rate struct {
	since time.Time    // what last counts from
	last  atomic.Int64 // nanoseconds at the last change
	gap   atomic.Int64 // nanoseconds between changes, smoothed over about the last eight
}

// busyGap is how close the changes of a busy resource are: a proof then comes by itself, sooner than it can be fetched.
const busyGap = 10 * time.Millisecond

// note takes note of a change.
func (r *rate) note(now time.Time) {
	at := int64(now.Sub(r.since))
	gap := min(at-r.last.Load(), int64(time.Second))
	r.last.Store(at)
	r.gap.Store(r.gap.Load() + (gap-r.gap.Load())/8)
}

// busy tells whether the next change is likely to come at once.
func (r *rate) busy(now time.Time) bool {
	quiet := now.Sub(r.since) - time.Duration(r.last.Load())
	return quiet <= 2*busyGap && 0 < r.gap.Load() && time.Duration(r.gap.Load()) <= busyGap
}
