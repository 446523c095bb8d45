package reflector

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"
)

// fill is how far the listing of a lane is. The writer tells it, anybody reads it.
type fill struct {
	began   atomic.Pointer[time.Time] // when this listing was begun; nil while there is none
	objects atomic.Int64              // that have arrived
	// expected is how many there are, as the upstream told; 0 when it did not.
	expected atomic.Int64
	pages    atomic.Int64 // bytes of the buffers of its pages
	before   filled       // what the last listing of the same took; zero if nobody knows
}

// filled is what a listing took.
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

// expects notes of how many objects the upstream told; the most that it did counts.
func (f *fill) expects(objects int64) { f.expected.Store(max(objects, f.expected.Load())) }

func (f *fill) end() {
	f.began.Store(nil)
	f.pages.Store(0)
}

// listing tells whether the lane is being listed: the upstream has answered what it looks like.
func (f *fill) listing() bool { return f.began.Load() != nil }

// remaining estimates how long a listing that began some time ago goes on: object by object if some have arrived, of
// as many as the upstream told or as there were in the last of the same; else as that took. Of one that nobody knows,
// or that takes longer, half is taken to be done.
func (f *fill) remaining(elapsed time.Duration) time.Duration {
	if n, all := f.objects.Load(), cmp.Or(f.expected.Load(), f.before.objects); n > 0 && n < all {
		return time.Duration(float64(elapsed) * float64(all-n) / float64(n))
	}
	if left := f.before.took - elapsed; left > 0 {
		return left
	}
	return elapsed
}

// Memory is about how many bytes the lane takes, with the list that fills it.
func (r *Reflector) Memory() int64 {
	stats := r.Cache.Stats()
	return stats.Memory() + r.fill.pages.Load()
}

// PageBytes is how many bytes the pages take of the list that fills the lane.
func (r *Reflector) PageBytes() int64 { return r.fill.pages.Load() }

// FilledIn estimates how long it takes until the lane, which has no State yet, has one; 0 when it failed and is not
// being listed again yet.
func (r *Reflector) FilledIn() time.Duration {
	switch listing := r.fill.began.Load(); {
	case listing != nil:
		return r.fill.remaining(time.Since(*listing))
	case r.Failure() != nil:
		return 0
	}
	return r.fill.remaining(time.Since(r.began))
}

// idles tells whether the lane has failed, and is not being listed again yet.
func (r *Reflector) idles() bool { return r.Failure() != nil && !r.fill.listing() }

// fills remembers what the last listing of each lane took, also of lanes that are gone. There are as many as there are
// resources. Safe for concurrent use.
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
