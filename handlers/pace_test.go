package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Who has waited for a place among those that are forwarded, because a lane was not ready, is answered by the lane if
// it is ready when the turn comes.
func TestTurnsLookAtTheLaneAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.fillsIn(12 * time.Second)
		slow := &crowd{}
		f.Script(testkit.AskList, func(w http.ResponseWriter, r *http.Request) {
			slow.enter()
			<-time.After(10 * time.Second)
			slow.leave()
			f.Truth(w, r)
		})
		// Eight lists of unknown size are asked for at a time; with a limit above 500 it is as good as none.
		if codes := f.storm(t, 30, allOfThem+"?resourceVersion=0&limit=1000", "application/json"); codes[http.StatusOK] != 30 {
			t.Errorf("the answers are %v", codes)
		}
		if n := f.Asked(testkit.AskList); n != 8 {
			t.Errorf("the upstream was asked for %d lists, want 8", n)
		}
	})
}

// A lane that is filled and still gives no answer is looked at once more when a request's turn comes, not for ever: it
// may be too old to be shown for as long as the upstream is away, and a read of one object goes to the upstream then.
func TestTurnsLookAtTheLaneOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		f.SetOffline(true)
		<-time.After(2 * time.Minute)
		for _, path := range []string{"/api/v1/namespaces/ns/configmaps/a", "/api/v1/configmaps?limit=1"} {
			if response, body := f.get(t, path); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "cannot be reached") {
				t.Errorf("%s: %d %s", path, response.StatusCode, body)
			}
		}
	}, func(c *Config) { c.MaxStaleness = time.Minute })
}
