package handlers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/upstream"
)

// A lane of a quiet resource finds out within the wait that the upstream has reached the requested version.
func TestQuietLaneReachesVersionInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, "/api/v1/configmaps?resourceVersion=0")
		for _, after := range []time.Duration{time.Second, 4 * time.Second} {
			want := f.RV() + 1
			time.AfterFunc(after, func() { f.Elsewhere() })
			_, body := f.get(t, fmt.Sprintf(
				"/api/v1/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=10&resourceVersion=%d", want))
			if inTime := after < freshWait; inTime != strings.HasPrefix(body, `{"type":"ADDED"`) ||
				inTime == strings.Contains(body, fmt.Sprintf("Too large resource version: %d", want)) {
				t.Errorf("reached after %s: got %s", after, body)
			}
		}
	})
}

// A large list at a version is forwarded if the lane reaches the version with other objects than the upstream has.
func TestContradictedLaneDoesNotAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		for i := range manyObjects + 1 {
			f.Put(fmt.Sprint("big/", i), strings.Repeat("x", 500))
		}
		f.get(t, reads[0])
		<-time.After(time.Minute)
		var now uint64 // of the upstream; the lane has not received it
		f.Script(testkit.AskRoll, func(w http.ResponseWriter, _ *http.Request) {
			rv := f.Put("big/0", "2")
			now = f.Elsewhere()
			_, _ = fmt.Fprintf(w, `{"metadata":{"resourceVersion":"%d"},"items":[]}`, rv)
		})
		response, body := f.get(t, fmt.Sprintf("/api/v1/configmaps?resourceVersion=%d", f.Elsewhere()))
		if response.StatusCode != http.StatusOK || !holds(body, now) || f.Asked(testkit.AskRoll) != 1 {
			t.Errorf("got %d after %d roll calls, want the upstream's list at %d: %s", response.StatusCode,
				f.Asked(testkit.AskRoll), now, body[:min(len(body), 300)])
		}
	})
}

// While kube-apiserver throttles, a small read at a version that the lane has not received is forwarded each time. No
// client gets an error that the version is too large.
func TestSmallReadsAreForwardedWhileProbesAreThrottled(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		f.Script(testkit.AskProbe, testkit.Refuse(http.StatusTooManyRequests, "TooManyRequests"))
		want, before := f.Elsewhere(), f.Asked(testkit.AskProbe)
		for range 2 { // the second one during the pause of probes
			began := time.Now()
			response, body := f.get(t, fmt.Sprintf("/api/v1/configmaps?resourceVersion=%d", want))
			if took := time.Since(began); response.StatusCode != http.StatusOK || !holds(body, want) || took >= freshWait {
				t.Errorf("got %d after %v: %s", response.StatusCode, took, body)
			}
		}
		if n := f.Asked(testkit.AskProbe) - before; n != 1 {
			t.Errorf("got %d probes, want 1", n)
		}
	})
}

// A list is continued at a version that the upstream has, and that the lane does not reach in time. A small page is
// then forwarded. A request for all remaining objects is refused.
func TestPageIsForwardedIfLaneDoesNotReachVersion(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		for i := range manyObjects + 200 {
			f.Put(fmt.Sprintf("big/%04d", i), "1")
		}
		f.get(t, reads[0])
		<-time.After(2 * time.Minute) // a bookmark has come: the lane waits for the next
		f.SetWays(testkit.Ways{NoBookmarks: true})
		now := f.Elsewhere()
		walk := "/api/v1/configmaps?continue=" + encodeToken(cache.RV(now), "/big/0099", "/", upstream.CacheStyle)
		for target, want := range map[string]int{walk + "&limit=100": http.StatusOK, walk: http.StatusGatewayTimeout} {
			response, body := f.get(t, target)
			if response.StatusCode != want || want == http.StatusOK && !holds(body, now) {
				t.Errorf("%s: got %d, want %d: %s", target, response.StatusCode, want, body[:min(len(body), 300)])
			}
		}
	})
}
