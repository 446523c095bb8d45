package testkit

import (
	"bytes"
	"net/http"
	urlpath "path"
	"strings"
)

// The answers of the facade that depend on who asks, and that docs/divergences.md has a line for. They are told from
// all others here; see Oracle.Excused.

// notPassedOn is in the message of a request that is not cached and cannot be forwarded with the caller's credentials.
const notPassedOn = "cannot be forwarded with the caller's credentials"

// NotPassedOn tells that the facade refuses what it does not hold: with --passthrough=token to who has proven himself
// by a certificate. What kube-apiserver refuses to the same caller the facade has to refuse in its words.
func NotPassedOn(q Question, want, got *Answer) bool {
	switch {
	case want.Code == http.StatusUnauthorized, want.Code == http.StatusForbidden:
		return false
	case q.method() == http.MethodHead:
		return got.Code == http.StatusMethodNotAllowed || got.Code == http.StatusNotImplemented
	default:
		return got.Code == http.StatusNotImplemented && bytes.Contains(got.Body, []byte(notPassedOn))
	}
}

// AboutItself tells that the facade says how it is itself: its health to whoever asks, its metrics to who may get them.
func AboutItself(q Question, want, got *Answer) bool {
	asked, _, _ := strings.Cut(q.Path, "?")
	head := q.method() == http.MethodHead
	if asked == "/metrics" {
		return want.Code == http.StatusOK && got.Code == http.StatusOK || head && got.Code == http.StatusMethodNotAllowed
	}
	for _, about := range []string{"/healthz", "/livez", "/readyz"} {
		if asked == about || strings.HasPrefix(asked, about+"/") && asked == urlpath.Clean(asked) {
			return got.Code == http.StatusOK && (head || string(got.Body) == "ok")
		}
	}
	return false
}

// IsCrooked tells a path that means another when it is cleaned; the two servers refuse HEAD of one in other words.
func (q Question) IsCrooked() bool {
	asked, _, _ := strings.Cut(q.Path, "?")
	decoded := strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/").Replace(asked)
	return strings.TrimSuffix(decoded, "/") != strings.TrimSuffix(urlpath.Clean(decoded), "/")
}
