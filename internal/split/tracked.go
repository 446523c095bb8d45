package split

import (
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/listfacade/listfacade/internal/frames"
)

// unsentError is the error of a request that no server has received, because there was no connection to send it on.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// unsent reports whether no server can have received the request. A request that a transport has begun to send may have
// been executed.
func unsent(err error) bool {
	var e *unsentError
	return errors.As(err, &e)
}

// tracked is a transport that returns an unsentError for requests that were not sent.
type tracked struct{ frames.RoundTripper }

func (t tracked) RoundTrip(r *http.Request) (*http.Response, error) {
	var connected atomic.Bool
	answer, err := t.RoundTripper.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})))
	if err != nil && !connected.Load() {
		err = &unsentError{err}
	}
	return answer, err
}
