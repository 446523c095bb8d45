package auth

import (
	"context"
	"sync/atomic"
	"time"
)

// WatchAuthorization is a grant that a watch holds for as long as it lasts. The zero value never ends.
type WatchAuthorization struct {
	reviews *Reviews
	held    *sharedDecision // what it stands on, with others
	ended   chan struct{}
	over    atomic.Bool // just before ended is closed
	expiry  *time.Timer // of the credential; nil when its end is not known
}

// Ended is closed when the right or the credential that the lease stands for is there no more; nil when that is never
// found out.
func (l *WatchAuthorization) Ended() <-chan struct{} { return l.ended }

// Check is asked before each event is sent: nil lets it go, ErrRevoked or the context's error does not. It answers at
// once, but while it is not known whether what has just changed took the right away.
func (l *WatchAuthorization) Check(ctx context.Context) error {
	// In this order: the doubt ends after the lease.
	if l.held != nil && l.held.pending.Load() != nil {
		return l.reviews.settle(ctx, l)
	}
	return l.stands()
}

func (l *WatchAuthorization) stands() error {
	if l.over.Load() {
		return ErrRevoked
	}
	return nil
}

// Release ends the holder's interest. It may be called again.
func (l *WatchAuthorization) Release() {
	if l.held != nil {
		l.reviews.release(l)
	}
}

// end is called once, by who took the lease from what it stood on.
func (l *WatchAuthorization) end() {
	l.stop()
	l.over.Store(true)
	close(l.ended)
}

func (l *WatchAuthorization) stop() {
	if l.expiry != nil {
		l.expiry.Stop()
	}
}
