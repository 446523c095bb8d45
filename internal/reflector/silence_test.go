package reflector

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
)

// A watch on which bookmarks came and then nothing is one that died in silence: its lane has not been heard since, and
// goes on without a gap as soon as there is a watch that lives.
func TestSilentStream(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		watcher := watchAll(t, lane)
		for range 3 {
			elapse(bookmarkEvery)
			r.Bookmark()
			synctest.Wait()
		}
		r.Script(testkit.AskWatch, func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })
		heard := time.Now()
		elapse(2*bookmarkEvery + bookmarkLate)
		if lane.StaleFor() != 0 || r.Asked(testkit.AskWatch) != 0 {
			t.Errorf("given up early: %s old", lane.StaleFor())
		}
		elapse(silenceEvery + time.Second)
		if stale := lane.StaleFor(); stale != time.Since(heard) || r.Asked(testkit.AskWatch) != 1 {
			t.Errorf("%s old, was last heard %s ago; asked for %d watches", stale, time.Since(heard), r.Asked(testkit.AskWatch))
		}
		r.Script(testkit.AskWatch, nil)
		r.Put("ns/b", "1")
		elapse(5 * time.Minute) // the watch that was asked for hangs, and is given up
		if event, ok := watcher.Next(); !ok || event.Object.Key() != "ns/b" || r.relisted.Load() != 0 {
			t.Errorf("the watcher has %v, %v; listed again %d times", event, watcher.Err(), r.relisted.Load())
		}
		if diff := cmp.Diff([]string{"ns/a@2", "ns/b@6"}, contents(t, lane)); diff != "" || lane.StaleFor() != 0 {
			t.Errorf("%s\n%s old", diff, lane.StaleFor())
		}
	})
}

// An upstream whose bookmarks are far apart, or that sends none, is left alone.
func TestSilenceThatIsNoDeath(t *testing.T) {
	for name, bookmark := range map[string]bool{"bookmarks far apart": true, "no bookmarks": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				lane := r.synced(t)
				elapse(3 * bookmarkEvery)
				if bookmark {
					r.Bookmark()
				}
				elapse(6 * bookmarkEvery)
				if lane.StaleFor() != 0 || r.Asked(testkit.AskWatch) != 0 {
					t.Errorf("%s old, asked for %d watches", lane.StaleFor(), r.Asked(testkit.AskWatch))
				}
			})
		})
	}
}

// A clock that is set, back or forward, ends no outage and makes none: what is kept of a moment is more than its name.
func TestOutagesAreMonotonic(t *testing.T) {
	var h health
	h.receivesNothing(time.Now())
	if lost := h.lost.Load().String(); !strings.Contains(lost, " m=") {
		t.Errorf("kept is %s", lost)
	}
}
