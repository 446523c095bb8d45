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

// Authenticator authenticates requests.
type Authenticator interface {
	// Authenticate returns the caller, or one of these errors:
	//   - auth.ErrUnauthenticated: the credentials are missing or invalid;
	//   - *auth.UnavailableError: the upstream cannot review the credentials;
	//   - *auth.BusyError: the source of the request has too many failed logins, or too many reviews wait;
	//   - auth.ErrNotLocal: a page of another site may have sent the request.
	Authenticate(r *http.Request) (*auth.Caller, error)
}

func (s *Server) authenticate(out *reply, q *Request, r *http.Request) error {
	defer q.Event.Waited(observe.Authenticating, q.Event.Waiting(observe.Authenticating))
	token, spaced := bearerToken(r.Header), isSpaced(r.Header)
	caller, err := s.authenticator.Authenticate(r)
	if err != nil && q.subject == aboutHealth && r.Header.Get("Authorization") == "" {
		caller, err = auth.Anonymous(), nil // probes of a kubelet have no credentials, and health concerns this process only
	}
	// Like kube-apiserver, close HTTP/2 connections of unauthenticated callers (UnauthenticatedHTTP2DOSMitigation).
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

// impersonates reports whether a request impersonates another user (KEP-5284, or the older headers). The facade refuses
// such a request. Otherwise, it would authorize the caller instead of the impersonated user.
func impersonates(header http.Header) bool {
	for name := range header {
		if strings.HasPrefix(name, "Impersonate-") {
			return true
		}
	}
	return false
}

// warnSpaces is kube-apiserver's warning about an extra space before the bearer token (semantics 8.7).
const warnSpaces = `299 - "the provided Authorization header contains extra space before the bearer token, and is ignored"`

// isSpaced reports whether two spaces precede the token in the Authorization header, so that the token is ignored.
func isSpaced(header http.Header) bool {
	parts := strings.SplitN(strings.TrimSpace(header.Get("Authorization")), " ", 3)
	return len(parts) == 3 && strings.EqualFold(parts[0], "bearer") && parts[1] == ""
}

// protocolToken is the prefix of a websocket protocol that contains a token. Browsers have no other way to send a
// token.
const protocolToken = "base64url.bearer.authorization.k8s.io."

// bearerToken returns the token in the Authorization header; "" if there is none. If a websocket protocol contains a
// token, it also returns "", because the authenticator may have reviewed that token instead.
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
