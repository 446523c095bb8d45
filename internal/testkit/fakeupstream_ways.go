package testkit

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Ways are those of an old kube-apiserver where they are not today's.
type Ways struct {
	// Streaming is what it makes of sendInitialEvents.
	Streaming StreamingWay
	// NoBookmarks: it sends no bookmarks (before 1.15, and where the feature is off).
	NoBookmarks bool
	// NullTimes: a time that is not set is written as null (before 1.34).
	NullTimes bool
	// TooLarge are the details in the Status about a version that it has not reached, with the comma before them. It
	// does not wait for such a version; without this it answers as if it had reached it.
	TooLarge string
}

// StreamingWay is what a kube-apiserver makes of a streaming list.
type StreamingWay int

// The ways of streaming lists.
const (
	StreamingKnown   StreamingWay = iota
	StreamingRefused              // 1.19 to 1.26, for its resourceVersionMatch; later where the feature is off
	StreamingIgnored              // before 1.19: a plain watch from any state, which begins with what is there
)

// The details of a 504 about a version that is too large, for Ways.TooLarge.
const (
	TooLarge116 = `,"details":{"retryAfterSeconds":1}`
	TooLarge117 = `,"details":{"causes":[{"message":"Too large resource version"}],"retryAfterSeconds":1}`
	TooLargeNow = `,"details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}`
)

// SetWays makes the fake an older one, before anything is put into it and anybody asks it.
func (f *FakeUpstream) SetWays(ways Ways) { f.ways = ways }

// unset is how metadata says that its creation has no time, in a format with the comma before or after it.
func (f *FakeUpstream) unset(format string) string {
	if !f.ways.NullTimes {
		return ""
	}
	return fmt.Sprintf(format, `"creationTimestamp":null`)
}

// tooLarge refuses a read at a version that is not reached, if the fake is one that does.
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

// TooLargeText is the Status about a version that a kube-apiserver has not reached, with details as in Ways.TooLarge.
func TooLargeText(wanted, current uint64, details string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"Timeout: Too large resource version: %d, current: %d","reason":"Timeout"%s,"code":504}`+"\n", wanted, current, details)
}

// objectKey is the key of the object that a path names.
func (f *FakeUpstream) objectKey(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, f.root()+"/")
	head, name, named := strings.Cut(rest, f.GVR.Resource+"/")
	if !ok || !named || strings.Contains(name, "/") {
		return "", false
	}
	return strings.TrimPrefix(head, "namespaces/") + name, true
}

// object answers with one object.
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
