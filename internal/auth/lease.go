package auth

import "context"

// Lease is a grant that a watch holds for as long as it lasts. The zero value never ends.
type Lease struct {
	ended chan struct{}
}

// Ended is closed when the right or the credential that the lease stands for is there no more; nil when that is never
// found out.
func (l *Lease) Ended() <-chan struct{} { return l.ended }

// Check is asked before each event is sent: nil lets it go, ErrRevoked or the context's error does not. It answers at
// once, but while it is not known whether what has just changed took the right away.
func (l *Lease) Check(context.Context) error {
	select {
	case <-l.ended:
		return ErrRevoked
	default:
		return nil
	}
}

// Release ends the holder's interest. It may be called again.
func (l *Lease) Release() {}
