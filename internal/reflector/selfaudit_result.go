package reflector

import (
	"sync/atomic"
	"time"
)

// audited is what the self-audit has found out of a lane. The auditor tells, anybody reads.
type audited struct {
	passed atomic.Pointer[time.Time] // when all objects had last been compared; nil: never
	found  atomic.Pointer[Finding]
}

// Finding is what of a page of objects was not as the upstream has it.
type Finding struct {
	At      time.Time
	Objects int
	Mended  bool // the lane was listed again for it
}

// Unaudited is how long ago all of the lane's objects had been compared with the upstream; as long as the lane is there
// if they never were.
func (r *Reflector) Unaudited() time.Duration {
	if passed := r.passed.Load(); passed != nil {
		return time.Since(*passed)
	}
	return time.Since(r.began)
}

// Differing is how many objects the self-audit last found to differ that are still so: the lane was not listed again
// for them, and no pass has found them to be the same.
func (r *Reflector) Differing() int {
	if found := r.Found(); found != nil && !found.Mended {
		return found.Objects
	}
	return 0
}

// Found is what the self-audit last found to differ; nil when it has found nothing since the lane was made, and when a
// pass has found nothing any more of what the lane was not listed again for.
func (r *Reflector) Found() *Finding { return r.found.Load() }
