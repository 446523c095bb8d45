package split

import (
	"net/http"
	"sync/atomic"

	"github.com/listfacade/listfacade/internal/frames"
)

// replaceable is a transport. When the authorities change, its later requests use new connections. Otherwise, a busy
// connection would remain open without limit to a server that is no longer trusted. Safe for concurrent use.
type replaceable struct {
	current atomic.Pointer[frames.RoundTripper]
	create  func() (frames.RoundTripper, error)
}

// newReplaceable returns a replaceable that uses the transports of create, and registers it in a. It must not be called
// after a.run.
func newReplaceable(a *authorities, create func() (frames.RoundTripper, error)) (*replaceable, error) {
	r := &replaceable{create: create}
	a.users = append(a.users, r)
	return r, r.replace()
}

// replace makes later requests use new connections. Requests in flight end on the connections that they use.
func (r *replaceable) replace() error {
	next, err := r.create()
	if err != nil {
		return err
	}
	if previous := r.current.Swap(&next); previous != nil {
		(*previous).CloseIdleConnections()
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (r *replaceable) RoundTrip(request *http.Request) (*http.Response, error) {
	return (*r.current.Load()).RoundTrip(request)
}

// CloseIdleConnections implements frames.RoundTripper.
func (r *replaceable) CloseIdleConnections() { (*r.current.Load()).CloseIdleConnections() }
