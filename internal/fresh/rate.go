package fresh

import (
	"sync/atomic"
	"time"
)

// rate is how often a lane's resource changes. One goroutine takes notes, any asks.
type rate struct {
	last atomic.Int64 // unix nanoseconds of the last change
	gap  atomic.Int64 // nanoseconds between changes, smoothed over about the last eight
}

// busyGap is how close the changes of a busy resource are: a proof then comes by itself, sooner than it can be fetched.
const busyGap = 10 * time.Millisecond

// note takes note of a change.
func (r *rate) note(now time.Time) {
	gap := min(now.UnixNano()-r.last.Load(), int64(time.Second))
	r.last.Store(now.UnixNano())
	r.gap.Store(r.gap.Load() + (gap-r.gap.Load())/8)
}

// busy tells whether the next change is likely to come at once.
func (r *rate) busy(now time.Time) bool {
	quiet := time.Duration(now.UnixNano() - r.last.Load())
	return quiet <= 2*busyGap && time.Duration(r.gap.Load()) <= busyGap
}
