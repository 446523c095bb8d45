package testkit

import (
	"bytes"
	"net/http"
	urlpath "path"
	"strings"
)

// This file recognizes the facade's answers that differ from kube-apiserver's for some callers (docs/divergences.md).
// See Oracle.Excused.

// notPassedOn is in the message of a request that is not cached and cannot be forwarded with the caller's credentials.
const notPassedOn = "cannot be forwarded with the caller's credentials"

// NotPassedOn reports whether the facade refused a request that it cannot forward for this caller. With
// --passthrough=token this happens to callers with a client certificate. The result is false if kube-apiserver refuses
// the same request, because the facade must then answer in kube-apiserver's words.
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

// AboutItself reports whether the facade answered about itself: with its health, or with its metrics to an authorized
// caller.
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

// IsCrooked reports whether path.Clean changes the path. The two servers refuse HEAD of such a path in different words.
func (q Question) IsCrooked() bool {
	asked, _, _ := strings.Cut(q.Path, "?")
	decoded := strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/").Replace(asked)
	return strings.TrimSuffix(decoded, "/") != strings.TrimSuffix(urlpath.Clean(decoded), "/")
}
