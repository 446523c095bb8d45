package handlers

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
)

// Authenticator says who asks.
type Authenticator interface {
	// Authenticate returns the caller, and how it was proven. auth.ErrUnauthenticated says that nobody was proven; an
	// *auth.UnavailableError that the upstream could not be asked, an *auth.BusyError that it is asked too much for
	// whoever sends the request, auth.ErrForeign that a page of another site may be behind it.
	Authenticate(r *http.Request) (*auth.Caller, error)
}

// authenticate is the second station: it says who asks.
func (s *Server) authenticate(out *reply, q *Request, r *http.Request) error {
	defer q.Event.Waited(observe.Authenticating, q.Event.Waiting(observe.Authenticating))
	token, spaced := bearerToken(r.Header), isSpaced(r.Header)
	caller, err := s.authenticator.Authenticate(r)
	if err != nil && q.subject == aboutHealth && r.Header.Get("Authorization") == "" {
		caller, err = auth.Anonymous(), nil // a kubelet has no credentials, and must know of this process alone
	}
	// Who is not known may not keep a connection of HTTP/2, which is cheap to abuse: it ends with this answer.
	if r.ProtoMajor == 2 && (errors.Is(err, auth.ErrUnauthenticated) || err == nil && isAnonymous(caller)) {
		out.header().Set("Connection", "close")
	}
	if spaced && (err != nil || isAnonymous(caller)) {
		out.header().Add("Warning", warnSpaces)
	}
	if err != nil {
		return err
	}
	q.Caller, q.Event.User, q.Event.Caller = caller, caller.Name(), caller.Info
	if caller.Way == auth.ByToken {
		q.token = token
	}
	return nil
}

func isAnonymous(c *auth.Caller) bool {
	return c.Name() == user.Anonymous || slices.Contains(c.Info.GetGroups(), user.AllUnauthenticated)
}

// impersonates tells a request in somebody else's name (KEP-5284 and what was before it). It is refused rather than
// answered in the caller's own, who may be trying out what others see.
func impersonates(header http.Header) bool {
	for name := range header {
		if strings.HasPrefix(name, "Impersonate-") {
			return true
		}
	}
	return false
}

// warnSpaces is what kube-apiserver says to who has a space too much before the token (semantics 8.7).
const warnSpaces = `299 - "the provided Authorization header contains extra space before the bearer token, and is ignored"`

// isSpaced tells an Authorization whose token is not seen, because there are two spaces before it.
func isSpaced(header http.Header) bool {
	parts := strings.SplitN(strings.TrimSpace(header.Get("Authorization")), " ", 3)
	return len(parts) == 3 && strings.EqualFold(parts[0], "bearer") && parts[1] == ""
}

// protocolToken begins the websocket protocol that stands for a token: browsers can send no other.
const protocolToken = "base64url.bearer.authorization.k8s.io."

// bearerToken is the token that a request's Authorization holds; empty when it holds none, or another came beside it
// that may be the one which counts.
func bearerToken(header http.Header) string {
	if strings.Contains(strings.Join(header.Values("Sec-Websocket-Protocol"), ","), protocolToken) {
		return ""
	}
	parts := strings.SplitN(strings.TrimSpace(header.Get("Authorization")), " ", 3)
	if len(parts) < 2 || !strings.EqualFold(parts[0], "bearer") {
		return ""
	}
	return parts[1]
}
