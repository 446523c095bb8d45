package auth

import (
	"context"
	"sync/atomic"
	"time"
)

// WatchAuthorization is the permission of a running watch. The zero value never ends.
type WatchAuthorization struct {
	reviews  *Reviews
	decision atomic.Pointer[sharedDecision] // decision that the watch depends on; only stores need Reviews.mu
	holder   *holder
	ended    chan struct{}
	over     atomic.Bool // set just before ended is closed
	expiry   *time.Timer // fires when the credential expires; nil if that is unknown
}

// Ended returns a channel that is closed when the permission or the credential has ended; nil if that cannot happen.
func (w *WatchAuthorization) Ended() <-chan struct{} { return w.ended }

// Check must be called before each event is sent. It returns nil if the event may be sent, ErrRevoked or the context's
// error otherwise. It blocks only while the permission is pending.
func (w *WatchAuthorization) Check(ctx context.Context) error {
	// pending is read before over: when a watch ends, over is set before pending is cleared.
	if d := w.decision.Load(); d != nil && !w.isConfirmedBy(d) {
		return w.reviews.settle(ctx, w)
	}
	return w.err()
}

// isConfirmedBy reports whether a decision that the watch depended on is confirmed, and the watch still depends on it.
// A decision that the watch has left is no longer pending, but the new one may be.
func (w *WatchAuthorization) isConfirmedBy(d *sharedDecision) bool {
	return d.pending.Load() == nil && w.decision.Load() == d
}

func (w *WatchAuthorization) err() error {
	if w.over.Load() {
		return ErrRevoked
	}
	return nil
}

// Release gives up the watch authorization. Further calls have no effect.
func (w *WatchAuthorization) Release() {
	if w.decision.Load() != nil {
		w.reviews.release(w)
	}
}

// end must be called at most once.
func (w *WatchAuthorization) end() {
	w.stop()
	w.over.Store(true)
	close(w.ended)
}

func (w *WatchAuthorization) stop() {
	if w.expiry != nil {
		w.expiry.Stop()
	}
}
