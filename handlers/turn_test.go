package handlers

import (
	"net/http"
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
