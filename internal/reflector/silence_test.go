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

// A watch that received bookmarks and then nothing is dead. Its lane is stale since the last frame, and continues
// without a relist when a watch works again.
func TestSilentWatchIsReplaced(t *testing.T) {
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
		received := time.Now()
		elapse(2*bookmarkEvery + bookmarkLate)
		if lane.StaleFor() != 0 || r.Asked(testkit.AskWatch) != 0 {
			t.Errorf("watch closed early: stale for %s", lane.StaleFor())
		}
		elapse(silenceEvery + time.Second)
		if stale := lane.StaleFor(); stale != time.Since(received) || r.Asked(testkit.AskWatch) != 1 {
			t.Errorf("stale for %s, last frame %s ago, %d watches", stale, time.Since(received), r.Asked(testkit.AskWatch))
		}
		r.Script(testkit.AskWatch, nil)
		r.Put("ns/b", "1")
		elapse(5 * time.Minute) // the new watch hangs, and is closed
		if event, ok := watcher.Next(); !ok || event.Object.Key() != "ns/b" || r.relisted.Load() != 0 {
			t.Errorf("got event %v, watcher error %v; got %d relists", event, watcher.Err(), r.relisted.Load())
		}
		if diff := cmp.Diff([]string{"ns/a@2", "ns/b@6"}, contents(t, lane)); diff != "" || lane.StaleFor() != 0 {
			t.Errorf("%s\nstale for %s", diff, lane.StaleFor())
		}
	})
}

// A watch is not closed if its bookmarks are rare or missing.
func TestSilenceWithoutBookmarksKeepsWatch(t *testing.T) {
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
					t.Errorf("stale for %s, got %d watches", lane.StaleFor(), r.Asked(testkit.AskWatch))
				}
			})
		})
	}
}

// A clock that is set forward or back neither ends nor starts an outage: times have monotonic readings.
func TestOutagesAreMonotonic(t *testing.T) {
	var h health
	h.receivesNothing(time.Now())
	if lost := h.lost.Load().String(); !strings.Contains(lost, " m=") {
		t.Errorf("got %s", lost)
	}
}
