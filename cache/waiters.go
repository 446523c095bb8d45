package cache

import (
	"math"
	"sync"
	"sync/atomic"
)

// waiters wakes readers that wait for an RV. All that wait for the same RV share one channel, so the writer closes one
// for a thousand of them, and does nothing but one comparison while none of their RVs is reached.
type waiters struct {
	lowest atomic.Uint64 // the smallest RV awaited, noneAwaited when there is none
	mu     sync.Mutex
	byRV   map[RV]*awaited // guarded by mu
}

// awaited is one RV that readers wait for.
type awaited struct {
	rv      RV
	reached chan struct{} // closed when the lane is there
	readers int           // guarded by waiters.mu
}

const noneAwaited = math.MaxUint64

func (w *waiters) init() {
	w.byRV = make(map[RV]*awaited)
	w.lowest.Store(noneAwaited)
}

// await joins those who wait for rv. The caller looks at the lane once more afterwards: either it sees the State, or
// the writer sees it waiting.
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

// reached wakes all whose RV is at or below rv.
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

// settle recomputes lowest, with mu held.
func (w *waiters) settle() {
	lowest := uint64(noneAwaited)
	for at := range w.byRV {
		lowest = min(lowest, uint64(at))
	}
	w.lowest.Store(lowest)
}
