package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

// A request waits for a forward seat because its lane is not ready. If the lane is ready when the request gets its
// seat, the lane serves the request.
func TestQueuedRequestIsServedByReadyLane(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.fillsIn(12 * time.Second)
		slow := &concurrency{}
		f.Script(testkit.AskList, func(w http.ResponseWriter, r *http.Request) {
			slow.enter()
			<-time.After(10 * time.Second)
			slow.leave()
			f.Truth(w, r)
		})
		// Eight lists of unknown size are forwarded at a time; a limit above 500 does not make a list cheaper.
		if codes := f.storm(t, 30, allOfThem+"?resourceVersion=0&limit=1000", "application/json"); codes[http.StatusOK] != 30 {
			t.Errorf("got responses %v", codes)
		}
		if n := f.Asked(testkit.AskList); n != 8 {
			t.Errorf("got %d lists of the upstream, want 8", n)
		}
	})
}

// A lane that is filled, but still cannot serve the request, is tried only once when the request gets its seat. It may
// stay too old for as long as the upstream is away. A get is then forwarded.
func TestQueuedRequestTriesLaneOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		f.SetOffline(true)
		<-time.After(2 * time.Minute)
		for _, path := range []string{"/api/v1/namespaces/ns/configmaps/a", "/api/v1/configmaps?limit=1"} {
			if response, body := f.get(t, path); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "cannot be reached") {
				t.Errorf("%s: got %d %s", path, response.StatusCode, body)
			}
		}
	}, func(c *Config) { c.MaxStaleness = time.Minute })
}
