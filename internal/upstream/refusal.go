package upstream

import (
	"bytes"
	"io"
	"net/http"
)

// refused returns a *RefusedError if a response refuses the facade's own user, and nil otherwise. Such a response
// contains that user's name. The facade, not the caller, lacks a permission or a credential.
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

// beginning returns the first 64 KiB of a response's body, enough for a Status.
func beginning(answer *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBody)) // an unreadable body counts as empty
	return body
}

// refusesImpersonation reports whether a 403, in any encoding, refuses the impersonation itself. Its verb begins with
// "impersonate", followed by the mode of constrained impersonation. YAML may break the line at a space.
func refusesImpersonation(status []byte) bool {
	return bytes.Contains(bytes.Join(bytes.Fields(status), []byte(" ")), []byte(" cannot impersonate"))
}
