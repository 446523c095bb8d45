package handlers

import (
	"net/http"

	"github.com/listfacade/listfacade/internal/auth"
)

// Authenticator says who asks.
type Authenticator interface {
	// Authenticate returns the caller, and how it was proven. auth.ErrUnauthenticated says that nobody was proven; an
	// *auth.UnavailableError that the upstream could not be asked, an *auth.BusyError that it is asked too much for whoever
	// sends the request.
	Authenticate(r *http.Request) (*auth.Caller, error)
}

// authenticate is the second station: it says who asks.
func (s *Server) authenticate(q *Request, r *http.Request) error {
	caller, err := s.authenticator.Authenticate(r)
	if err != nil {
		return err
	}
	q.Caller, q.Event.User = caller, caller.Name()
	return nil
}
