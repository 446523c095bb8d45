package reflector

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"
)

// fill is the progress of a lane's list. The writer updates it; reads are safe for concurrent use.
type fill struct {
	began   atomic.Pointer[time.Time] // time when the list began; nil if no list is in progress
	objects atomic.Int64
	// expected is the number of objects that the upstream announced; 0 if it announced none.
	expected atomic.Int64
	pages    atomic.Int64 // size of the page buffers in bytes
	before   filled       // last list of the same resource; zero if there was none
}

type filled struct {
	objects int64
	took    time.Duration
}

func (f *fill) begin() {
	now := time.Now()
	f.began.Store(&now)
	f.objects.Store(0)
	f.expected.Store(0)
}

func (f *fill) noteExpected(objects int64) { f.expected.Store(max(objects, f.expected.Load())) }

func (f *fill) end() {
	f.began.Store(nil)
	f.pages.Store(0)
}

func (f *fill) listing() bool { return f.began.Load() != nil }

// remaining estimates the remaining time of a list. It uses the rate of the objects received, and the expected number
// of objects: the announced number, or else the number in the last list. Without a usable number, it uses the duration
// of the last list, or else assumes that half of the list was received.
func (f *fill) remaining(elapsed time.Duration) time.Duration {
	if n, all := f.objects.Load(), cmp.Or(f.expected.Load(), f.before.objects); n > 0 && n < all {
		return time.Duration(float64(elapsed) * float64(all-n) / float64(n))
	}
	if left := f.before.took - elapsed; left > 0 {
		return left
	}
	return elapsed
}

// Memory returns the approximate size of the lane in bytes, including the list that fills it.
func (r *Reflector) Memory() int64 {
	stats := r.Cache.Stats()
	return stats.Memory() + r.fill.pages.Load()
}

// PageBytes returns the size in bytes of the page buffers of the list that fills the lane.
func (r *Reflector) PageBytes() int64 { return r.fill.pages.Load() }

// FilledIn estimates how long it takes until the lane is filled, or listed again. If the lane is not being listed,
// FilledIn returns 0 when the lane has a State or has failed.
func (r *Reflector) FilledIn() time.Duration {
	if listing := r.fill.began.Load(); listing != nil {
		return r.fill.remaining(time.Since(*listing))
	}
	if _, err := r.Cache.State(); err == nil || r.Failure() != nil {
		return 0
	}
	return r.fill.remaining(time.Since(r.began))
}

// idles reports whether the lane has failed and is not being listed again yet.
func (r *Reflector) idles() bool { return r.Failure() != nil && !r.fill.listing() }

// fills records the last list of each lane, even after the lane has ended. It has one entry per resource and encoding.
// Safe for concurrent use.
type fills struct {
	mu   sync.Mutex // guards last
	last map[laneKey]filled
}

func (f *fills) of(key laneKey) filled {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last[key]
}

func (f *fills) note(key laneKey, listing filled) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last[key] = listing
}
