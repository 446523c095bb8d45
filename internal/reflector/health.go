package reflector

import (
	"sync"
	"sync/atomic"
	"time"
)

// health is whether a lane is being filled.
type health struct {
	failure      atomic.Pointer[Failure]
	disconnected atomic.Int64 // unix nanoseconds since when no stream is open; 0 while one is

	mu      sync.Mutex    // guards changed
	changed chan struct{} // closed when the kind or the failure changes; nil while nobody waits
}

// Failure is why the lane is not filled; nil when nothing is wrong.
func (h *health) Failure() *Failure { return h.failure.Load() }

// StaleFor is how long the lane has not heard the upstream; 0 while its watch is open.
func (h *health) StaleFor() time.Duration {
	since := h.disconnected.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
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

func (h *health) connected() {
	if h.disconnected.Load() != 0 { // every event comes by
		h.disconnected.Store(0)
	}
}

func (h *health) lost() { h.disconnected.CompareAndSwap(0, time.Now().UnixNano()) }
