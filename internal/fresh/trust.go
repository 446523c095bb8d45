package fresh

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// trust records whether a check or the writer has found that the lane is wrong. A wrong lane must be listed again, and
// must not answer before that.
//
// A check may end after the new list that another check caused. So each check notes the listing with which it began,
// and its result is about this listing only.
type trust struct {
	wrong   atomic.Bool // whether present is wrong; the only field that an answer from the cache needs
	present atomic.Pointer[Listing]
	mu      sync.Mutex // guards writes of wrong and present, which change together, and the reason of each Listing
}

// Listing is one list from which the lane was filled, or the time before the first list.
type Listing struct {
	found  chan struct{} // closed when a check or the writer finds that the lane is wrong
	reason error         // an ErrContradicted; guarded by trust.mu
}

func (l *Listing) isWrong() bool {
	select {
	case <-l.found:
		return true
	default:
		return false
	}
}

func newTrust() *trust {
	t := &trust{}
	t.replace()
	return t
}

// replace begins a listing.
func (t *trust) replace() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.present.Store(&Listing{found: make(chan struct{})})
	t.wrong.Store(false)
}

// distrust records that a listing is wrong, and returns the reason. It has no effect on a later listing. ErrSetBack
// replaces another reason, because it concerns the other lanes, too: their history has possibly been lost.
func (t *trust) distrust(l *Listing, reason error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.reason == nil || errors.Is(reason, ErrSetBack) {
		l.reason = reason
	}
	if !l.isWrong() {
		close(l.found)
	}
	if l == t.present.Load() {
		t.wrong.Store(true)
	}
	return reason
}

// doubts reports whether a State is possibly wrong. The caller must have loaded began from present before it read the
// State.
func (t *trust) doubts(began *Listing) bool { return began.isWrong() || t.wrong.Load() }

// Listing returns the list from which the lane is filled at present. A reader calls it before it reads a State, and
// calls Doubts afterwards.
func (c *Checker) Listing() *Listing { return c.trust.present.Load() }

// Doubts reports whether a State that was read after Listing returned l is possibly wrong. Contradicted may be false
// for such a State, because the lane may have been listed again since the State was read.
func (c *Checker) Doubts(l *Listing) bool { return c.trust.doubts(l) }

// Contradicted reports whether a check or the writer has found that the lane is wrong and the lane has not been listed
// again. The lane must not answer then, except reads that accept any State.
func (c *Checker) Contradicted() bool { return c.trust.wrong.Load() }

// Contradiction returns why Contradicted is true: ErrContradicted or ErrSetBack. It returns nil if Contradicted is
// false.
func (c *Checker) Contradiction() error {
	c.trust.mu.Lock()
	defer c.trust.mu.Unlock()
	return c.trust.present.Load().reason
}

// Doubted returns a channel that is closed when Contradicted becomes true. After Replaced, call Doubted again.
func (c *Checker) Doubted() <-chan struct{} { return c.trust.present.Load().found }

// Distrust records that the lane is wrong for a reason that its writer has found: ErrContradicted or ErrSetBack.
func (c *Checker) Distrust(reason error) { _ = c.trust.distrust(c.trust.present.Load(), reason) }

// Replaced records that the lane was listed again.
func (c *Checker) Replaced() { c.trust.replace() }

// Forwards reports whether the upstream may answer a read in place of a contradicted lane. Costly answers count for the
// limit of forwarded answers (maxForwarded). ctx is the request's context. If Forwards returns false, the caller has to
// wait for the new list.
func (c *Checker) Forwards(ctx context.Context, answer Answer) bool {
	return !answer.isCostly() || c.takeForwarded(ctx, answer)
}
