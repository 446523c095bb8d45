package reflector

import (
	"sync/atomic"
	"time"
)

// audited is the result of the self-audit for a lane. The auditor writes it; reads are safe for concurrent use.
type audited struct {
	passed atomic.Pointer[time.Time] // time of the last complete pass; nil: never
	found  atomic.Pointer[Finding]
}

// Finding describes the objects in a page that differed from the upstream's.
type Finding struct {
	At       time.Time
	Objects  int
	Relisted bool // whether the lane was listed again because of the difference
}

// Unaudited returns how long ago the self-audit last completed a pass over the lane. If it never has, it returns the
// age of the lane.
func (r *Reflector) Unaudited() time.Duration {
	if passed := r.passed.Load(); passed != nil {
		return time.Since(*passed)
	}
	return time.Since(r.began)
}

// Differing returns the number of objects of the last finding, if they may still differ. It returns 0 if the lane was
// listed again, or if a later pass found no difference.
func (r *Reflector) Differing() int {
	if found := r.Found(); found != nil && !found.Relisted {
		return found.Objects
	}
	return 0
}

// Found returns the last finding of the self-audit since the lane was made, or nil. If the lane was not listed again
// because of the finding, a later pass without a difference removes the finding.
func (r *Reflector) Found() *Finding { return r.found.Load() }
