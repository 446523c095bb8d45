package cache

import (
	"math"
	"sync"
	"sync/atomic"
)

// waiters wakes readers that wait for an RV. All readers of one RV share a channel, so the writer closes one channel
// for all of them. When no awaited RV is reached, the writer does only one comparison.
type waiters struct {
	lowest atomic.Uint64 // smallest awaited RV, or noneAwaited
	mu     sync.Mutex
	byRV   map[RV]*awaited // guarded by mu
}

type awaited struct {
	rv      RV
	reached chan struct{} // closed when the lane reaches rv
	readers int           // guarded by waiters.mu
}

const noneAwaited = math.MaxUint64

func (w *waiters) init() {
	w.byRV = make(map[RV]*awaited)
	w.lowest.Store(noneAwaited)
}

// await adds a reader that waits for rv. The caller must check the lane again afterwards: either the caller sees the
// State, or the writer sees the waiting reader.
func (w *waiters) await(rv RV) *awaited {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.byRV[rv]
	if a == nil {
		a = &awaited{rv: rv, reached: make(chan struct{})}
		w.byRV[rv] = a
		w.lowest.Store(min(w.lowest.Load(), uint64(rv)))
	}
	a.readers++
	return a
}

func (w *waiters) leave(a *awaited) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.readers--
	if a.readers == 0 && w.byRV[a.rv] == a {
		delete(w.byRV, a.rv)
		w.settle()
	}
}

func (w *waiters) reached(rv RV) {
	if uint64(rv) < w.lowest.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, a := range w.byRV {
		if at <= rv {
			close(a.reached)
			delete(w.byRV, at)
		}
	}
	w.settle()
}

// settle recomputes lowest. mu must be held.
func (w *waiters) settle() {
	lowest := uint64(noneAwaited)
	for at := range w.byRV {
		lowest = min(lowest, uint64(at))
	}
	w.lowest.Store(lowest)
}
