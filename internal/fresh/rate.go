package fresh

import (
	"sync/atomic"
	"time"
)

// rate is how often a lane's resource changes. One goroutine takes notes, any asks.
type rate struct {
	since    time.Time    // what last counts from
	last     atomic.Int64 // nanoseconds at the last change
	interval atomic.Int64 // nanoseconds between changes, smoothed over about the last eight
}

// busyInterval is how close the changes of a busy resource are: a proof then comes by itself, sooner than it can be
// fetched.
const busyInterval = 10 * time.Millisecond

// note takes note of a change.
func (r *rate) note(now time.Time) {
	at := int64(now.Sub(r.since))
	lost := min(at-r.last.Load(), int64(time.Second))
	r.last.Store(at)
	r.interval.Store(r.interval.Load() + (lost-r.interval.Load())/8)
}

// busy tells whether the next change is likely to come at once.
func (r *rate) busy(now time.Time) bool {
	quiet := now.Sub(r.since) - time.Duration(r.last.Load())
	return quiet <= 2*busyInterval && 0 < r.interval.Load() && time.Duration(r.interval.Load()) <= busyInterval
}
