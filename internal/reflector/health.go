package reflector

import (
	"sync"
	"sync/atomic"
	"time"
)

// health is whether a lane is being filled. Its times keep their monotonic readings.
type health struct {
	failure  atomic.Pointer[Failure]
	lost     atomic.Pointer[time.Time] // since when no stream is open; nil while one is
	began    time.Time                 // when the lane was made
	received atomic.Int64              // when the stream was last heard, in nanoseconds after began
	event    atomic.Int64              // when the stream last brought a change, in nanoseconds after began; 0: never

	mu      sync.Mutex    // guards changed
	changed chan struct{} // closed when the kind or the failure changes; nil while nobody waits
}

// Began is when the lane was made.
func (h *health) Began() time.Time { return h.began }

// Failure is why the lane is not filled; nil when nothing is wrong.
func (h *health) Failure() *Failure { return h.failure.Load() }

// LastEvent is how long ago the upstream's watch last brought a change; false when it has brought none.
func (h *health) LastEvent() (ago time.Duration, ever bool) {
	at := h.event.Load()
	return time.Since(h.began) - time.Duration(at), at > 0
}

// staleFor is how long the lane has not heard the upstream, which has been unheard by everybody for so long; 0 while
// the watch is open and the upstream well.
func (h *health) staleFor(unheard time.Duration) time.Duration {
	// An open watch may be one to an upstream that hangs; what came of it counts.
	stale := min(unheard, time.Since(h.began)-time.Duration(h.received.Load()))
	if lost := h.lost.Load(); lost != nil {
		return max(time.Since(*lost), stale, 1)
	}
	return stale
}

// change returns a channel that is closed when there is something new.
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

// hears notes that the lane's stream is open now.
func (h *health) receives() {
	h.received.Store(int64(time.Since(h.began)))
	if h.lost.Load() != nil { // every event comes by
		h.lost.Store(nil)
	}
}

// receivesChange notes that the stream brought a change.
func (h *health) receivesChange() {
	h.receives()
	h.event.Store(h.received.Load())
}

// receivesNothing notes that no stream is open, and that nothing was heard after the moment.
func (h *health) receivesNothing(after time.Time) { h.lost.CompareAndSwap(nil, &after) }
