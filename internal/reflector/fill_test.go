package reflector

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

func TestRemaining(t *testing.T) {
	for name, c := range map[string]struct {
		before  filled
		objects int64
		elapsed time.Duration
		want    time.Duration
	}{
		"nothing is known":                 {filled{}, 0, 4 * time.Second, 4 * time.Second},
		"objects arrive, of how many":      {filled{}, 100, 4 * time.Second, 4 * time.Second},
		"it took ten seconds":              {filled{objects: 100, took: 10 * time.Second}, 0, 4 * time.Second, 6 * time.Second},
		"it is slower than before":         {filled{objects: 100, took: 10 * time.Second}, 20, 4 * time.Second, 16 * time.Second},
		"it is longer than before":         {filled{objects: 100, took: 10 * time.Second}, 100, 12 * time.Second, 12 * time.Second},
		"nothing comes, longer than ever":  {filled{objects: 100, took: 10 * time.Second}, 0, 12 * time.Second, 12 * time.Second},
		"more than before, in better time": {filled{objects: 100, took: 10 * time.Second}, 150, 4 * time.Second, 6 * time.Second},
	} {
		f := &fill{before: c.before}
		f.objects.Store(c.objects)
		if got := f.remaining(c.elapsed); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The duration of a lane's list is remembered for the next lane of the resource. Objects received count, both of a
// streaming list and of pages.
func TestFilledIn(t *testing.T) {
	for _, paged := range []bool{false, true} {
		inBubble(t, configMaps, func(t *testing.T, r *rig) {
			for i := range 2 * pageObjects {
				r.Put(fmt.Sprintf("ns/%04d", i), "1")
			}
			if paged {
				r.Script(testkit.AskStreaming, testkit.Refuse(http.StatusBadRequest, "Invalid"))
				r.Script(testkit.AskList, func(w http.ResponseWriter, request *http.Request) {
					<-time.After(4 * time.Second)
					r.Truth(w, request)
				})
			} else {
				r.Script(testkit.AskStreaming, func(w http.ResponseWriter, request *http.Request) {
					<-time.After(8 * time.Second)
					r.Truth(w, request)
				})
			}
			lane := r.lane(t)
			<-time.After(6 * time.Second)
			if left := lane.FilledIn(); left != 6*time.Second {
				t.Errorf("paged %t: got %s for a list without a predecessor", paged, left)
			}
			<-time.After(3 * time.Second)
			r.lanes.mu.Lock()
			delete(r.lanes.reflectors, lane.key()) // as for an idle lane
			r.lanes.mu.Unlock()
			lane.stop()
			next := r.lane(t)
			<-time.After(5 * time.Second)
			want := 3 * time.Second // of eight
			if paged {
				want = 5 * time.Second // half of the objects were received
			}
			if left := next.FilledIn(); left != want {
				t.Errorf("paged %t: got %s, want %s", paged, left, want)
			}
			<-time.After(4 * time.Second)
			synctest.Wait()
		})
	}
}
