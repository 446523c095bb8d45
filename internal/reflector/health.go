package reflector

import (
	"sync"
	"sync/atomic"
	"time"
)

// health records whether a lane receives data from the upstream.
type health struct {
	failure  atomic.Pointer[Failure]
	lost     atomic.Pointer[time.Time] // time since which no stream is open; nil while a stream is open
	began    time.Time
	received atomic.Int64 // time of the stream's last frame, in nanoseconds after began
	event    atomic.Int64 // time of the stream's last change, in nanoseconds after began; 0 for never

	mu      sync.Mutex    // guards changed
	changed chan struct{} // closed when the lane's Kind or Failure changes; nil while no caller waits
}

// Began returns the time at which the lane was made.
func (h *health) Began() time.Time { return h.began }

// Failure returns the reason why the lane could not be filled, or ended; nil if the lane was filled since then.
func (h *health) Failure() *Failure { return h.failure.Load() }

// LastEvent returns how long ago the lane's watch last received a change. ever is false if it never received one.
func (h *health) LastEvent() (ago time.Duration, ever bool) {
	at := h.event.Load()
	return time.Since(h.began) - time.Duration(at), at > 0
}

// staleFor returns how long the lane has received nothing from the upstream. silent is how long the upstream has
// responded to no request at all. staleFor returns 0 while the watch is open and the upstream responds.
func (h *health) staleFor(silent time.Duration) time.Duration {
	// A watch may be open to an upstream that hangs, so the time of the last frame counts.
	stale := min(silent, time.Since(h.began)-time.Duration(h.received.Load()))
	if lost := h.lost.Load(); lost != nil {
		return max(time.Since(*lost), stale, 1)
	}
	return stale
}

// change returns a channel that is closed when the lane's Kind or Failure next changes.
func (h *health) change() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

func (h *health) announce() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

func (h *health) fail(f *Failure) {
	h.failure.Store(f)
	h.announce()
}

// receives records that the lane's stream is open.
func (h *health) receives() {
	h.received.Store(int64(time.Since(h.began)))
	if h.lost.Load() != nil { // avoids a write for every event
		h.lost.Store(nil)
	}
}

func (h *health) receivesChange() {
	h.receives()
	h.event.Store(h.received.Load())
}

// receivesNothing records that no stream is open, and that nothing was received after the given moment.
func (h *health) receivesNothing(after time.Time) { h.lost.CompareAndSwap(nil, &after) }
