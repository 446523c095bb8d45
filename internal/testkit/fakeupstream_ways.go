package testkit

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Ways are the differences of an old kube-apiserver from the current release.
type Ways struct {
	// Streaming is the answer to sendInitialEvents.
	Streaming StreamingWay
	// NoBookmarks disables bookmarks (before 1.15, or with the feature gate off).
	NoBookmarks bool
	// NullTimes writes an unset time as null (before 1.34).
	NullTimes bool
	// TooLarge is the details field, with the comma before it, of the immediate 504 to a read at a future
	// resourceVersion. If it is empty, the fake answers such a read as if it had reached that version.
	TooLarge string
}

// StreamingWay is how a kube-apiserver answers a streaming list.
type StreamingWay int

// The answers to a streaming list.
const (
	StreamingKnown   StreamingWay = iota
	StreamingRefused              // 1.19 to 1.26, because of its resourceVersionMatch; later with the feature gate off
	StreamingIgnored              // before 1.19: a plain watch from any state, which begins with the current objects
)

// The details of a 504 for a resourceVersion that is too large, for Ways.TooLarge.
const (
	TooLarge116 = `,"details":{"retryAfterSeconds":1}`
	TooLarge117 = `,"details":{"causes":[{"message":"Too large resource version"}],"retryAfterSeconds":1}`
	TooLargeNow = `,"details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}`
)

// SetWays makes the fake behave like an older release. Call it before the first object and the first request.
func (f *FakeUpstream) SetWays(ways Ways) { f.ways = ways }

// unset returns the text of an unset creation time, in a format with the comma before or after it. It is empty unless
// NullTimes is set.
func (f *FakeUpstream) unset(format string) string {
	if !f.ways.NullTimes {
		return ""
	}
	return fmt.Sprintf(format, `"creationTimestamp":null`)
}

// tooLarge refuses a read at a future resourceVersion if Ways.TooLarge is set. It reports whether it did.
func (f *FakeUpstream) tooLarge(w http.ResponseWriter, r *http.Request) bool {
	wanted, _ := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	now := f.RV()
	if f.ways.TooLarge == "" || wanted <= now {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusGatewayTimeout)
	_, _ = io.WriteString(w, TooLargeText(wanted, now, f.ways.TooLarge))
	return true
}

// TooLargeText returns the Status for a future resourceVersion, with details as in Ways.TooLarge.
func TooLargeText(wanted, current uint64, details string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"Timeout: Too large resource version: %d, current: %d","reason":"Timeout"%s,"code":504}`+"\n", wanted,
		current, details)
}

func (f *FakeUpstream) objectKey(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, f.root()+"/")
	head, name, named := strings.Cut(rest, f.GVR.Resource+"/")
	if !ok || !named || strings.Contains(name, "/") {
		return "", false
	}
	return strings.TrimPrefix(head, "namespaces/") + name, true
}

func (f *FakeUpstream) object(w http.ResponseWriter, r *http.Request, key string) {
	if f.tooLarge(w, r) {
		return
	}
	f.mu.Lock()
	text, ok := f.store.objects[key]
	f.mu.Unlock()
	if !ok {
		Refuse(http.StatusNotFound, "NotFound")(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text+"\n")
}
