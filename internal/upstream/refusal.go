package upstream

import (
	"bytes"
	"io"
	"net/http"
)

// refused tells, before anything of it is read on, whether an answer is a refusal of the facade's own user. It names
// that user, and means that the facade lacks a right or a credential, not that the caller does.
func (s Credentials) refused(answer *http.Response) error {
	code := answer.StatusCode
	switch {
	case code != http.StatusUnauthorized && code != http.StatusForbidden, s.kind == everybody, s.kind == bearer, s.kind == anonymous:
		return nil
	case s.kind == facade || code == http.StatusUnauthorized: // who is impersonated has no credential of its own
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

// beginning reads the first 64 KiB of an answer's body, in which a Status ends.
func beginning(answer *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBody)) // what cannot be read says nothing
	return body
}

// refusesImpersonation tells the 403 of whoever may not impersonate, in any encoding: its verb is impersonate, with the
// mode of constrained impersonation behind it. YAML breaks lines at spaces.
func refusesImpersonation(status []byte) bool {
	return bytes.Contains(bytes.Join(bytes.Fields(status), []byte(" ")), []byte(" cannot impersonate"))
}
