package auth

import (
	"context"
	"sync/atomic"
	"time"
)

// Lease is a grant that a watch holds for as long as it lasts. The zero value never ends.
type Lease struct {
	reviews *Reviews
	held    *held // what it stands on, with others
	ended   chan struct{}
	over    atomic.Bool // just before ended is closed
	expiry  *time.Timer // of the credential; nil when its end is not known
}

// Ended is closed when the right or the credential that the lease stands for is there no more; nil when that is never
// found out.
func (l *Lease) Ended() <-chan struct{} { return l.ended }

// Check is asked before each event is sent: nil lets it go, ErrRevoked or the context's error does not. It answers at
// once, but while it is not known whether what has just changed took the right away.
func (l *Lease) Check(ctx context.Context) error {
	// In this order: the doubt ends after the lease.
	if l.held != nil && l.held.doubt.Load() != nil {
		return l.reviews.settle(ctx, l)
	}
	return l.stands()
}

func (l *Lease) stands() error {
	if l.over.Load() {
		return ErrRevoked
	}
	return nil
}

// Release ends the holder's interest. It may be called again.
func (l *Lease) Release() {
	if l.held != nil {
		l.reviews.release(l)
	}
}

// end is called once, by who took the lease from what it stood on.
func (l *Lease) end() {
	l.stop()
	l.over.Store(true)
	close(l.ended)
}

func (l *Lease) stop() {
	if l.expiry != nil {
		l.expiry.Stop()
	}
}
