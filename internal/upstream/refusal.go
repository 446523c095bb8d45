package upstream

import (
	"bytes"
	"io"
	"net/http"
)

// refused returns a *RefusedError if a response refuses the facade's own user instead of the caller, and nil otherwise.
func (s Credentials) refused(answer *http.Response) error {
	code := answer.StatusCode
	switch {
	case code != http.StatusUnauthorized && code != http.StatusForbidden, s.kind == kubeconfigUser, s.kind == bearer,
		s.kind == anonymous:
		return nil
	case s.kind == facadeUser || code == http.StatusUnauthorized: // an impersonated user has no own credentials
		return &RefusedError{Code: code, Body: beginning(answer)}
	}
	body := beginning(answer)
	if answer.Header.Get("Content-Encoding") != "" || refusesImpersonation(body) {
		return &RefusedError{Code: code, Body: body}
	}
	rest := answer.Body
	answer.Body = &ownedBody{
		ReadCloser: io.NopCloser(io.MultiReader(bytes.NewReader(body), rest)), release: func() { rest.Close() },
	}
	return nil
}

func beginning(answer *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBody)) // an unreadable body counts as empty
	return body
}

// refusesImpersonation reports whether a 403 in any encoding refuses the impersonation itself. The verb in its message
// then begins with "impersonate", followed by the mode of constrained impersonation. YAML may break the line at a
// space.
func refusesImpersonation(status []byte) bool {
	return bytes.Contains(bytes.Join(bytes.Fields(status), []byte(" ")), []byte(" cannot impersonate"))
}
