package reflector

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

const kubeSystem = testkit.Ask("/api/v1/namespaces/kube-system")

// An address may lead to another cluster, for example to a standby that was restored from a backup and has higher
// versions. A watch from the lane's version would receive that cluster's events.
func TestWatchIsNotResumedInAnotherCluster(t *testing.T) {
	for name, c := range map[string]struct {
		before, after func(*rig)
		listed        int64 // number of relists
		later         func(*rig)
	}{
		"another cluster":      {func(r *rig) { r.isCluster("1") }, func(r *rig) { r.isCluster("2") }, 1, nil},
		"the same":             {func(r *rig) { r.isCluster("1") }, func(r *rig) { r.isCluster("1") }, 0, nil},
		"never provided":       {(*rig).tellsNoCluster, (*rig).tellsNoCluster, 0, nil},
		"no longer provided":   {func(r *rig) { r.isCluster("1") }, (*rig).tellsNoCluster, 0, nil},
		"provided again later": {func(r *rig) { r.isCluster("1") }, (*rig).tellsNoCluster, 1, func(r *rig) { r.isCluster("2") }},
	} {
		t.Run(name, func(t *testing.T) {
			for _, bridges := range []bool{true, false} {
				bubble.Test(t, func(t *testing.T) {
					r := newRig(t, configMaps, Config{ReplayLostWindows: bridges})
					r.isVersion("v1.37.0")
					c.before(r)
					r.Put("ns/a", "here")
					lane := r.synced(t)
					watcher := watchAll(t, lane)
					elapse(time.Minute)
					c.after(r)
					r.Rewrite(func(text string) string { return strings.Replace(text, "here", "elsewhere", 1) })
					r.DropWatches()
					elapse(time.Minute)
					if c.later != nil {
						c.later(r)
						elapse(15 * time.Minute) // until the watch has ended at its timeout
					}
					if n := r.relisted.Load(); n != c.listed || lane.StaleFor() > outageEvery {
						t.Errorf("got %d relists, want %d; stale for %s", n, c.listed, lane.StaleFor())
					}
					if got, relisted := shown(t, lane, "ns/a"), c.listed > 0; strings.Contains(got, "elsewhere") != relisted {
						t.Errorf("got object %s", got)
					}
					if watcher.Next(); (watcher.Err() != nil) != (c.listed > 0) {
						t.Errorf("got watcher error %v", watcher.Err())
					}
					r.DropWatches()
					elapse(time.Minute)
					if n := r.relisted.Load(); n != c.listed {
						t.Errorf("got %d relists after another end of the watch", n)
					}
				})
			}
		})
	}
}

// namedEncoding is JSON with another name.
type namedEncoding struct {
	jsonwire.Encoding
	name string
}

func (e namedEncoding) Name() string { return e.name }

// Lanes whose watches break off at the same time share a request, and watches that end at their timeout send none.
func TestClusterRequestsAreShared(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{})
		r.isVersion("v1.37.0")
		var answers atomic.Int64
		r.Script(kubeSystem, func(w http.ResponseWriter, request *http.Request) {
			answers.Add(1)
			<-time.After(10 * time.Millisecond)
			text(`{"metadata":{"uid":"1"}}`)(w, request)
		})
		r.synced(t)
		for i := range 20 {
			if _, err := r.lanes.Get(r.resource(), namedEncoding{jsonwire.Encoding{}, string(rune('a' + i))}); err != nil {
				t.Fatal(err)
			}
		}
		elapse(time.Minute)
		before := answers.Load()
		elapse(15 * time.Minute) // until each watch has ended at its timeout
		if n := answers.Load() - before; n != 0 {
			t.Errorf("got %d requests without a broken watch", n)
		}
		r.DropWatches()
		elapse(time.Minute)
		// The watches are opened within 100 ms. A request takes 10 ms, and lanes share the next one meanwhile.
		if n := answers.Load() - before; n < 1 || n > 12 {
			t.Errorf("got %d requests for 21 broken watches, want 1 to 12", n)
		}
	})
}

// The address may lead to another cluster a moment after another lane has received its response.
func TestClusterIsReadAfterTheWatchIsOpen(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{})
		r.isVersion("v1.37.0")
		r.isCluster("1")
		r.Put("ns/a", "here")
		lane := r.synced(t)
		elapse(time.Minute)
		r.Script(testkit.AskWatch, func(w http.ResponseWriter, request *http.Request) {
			if uid := r.lanes.clusters.since(request.Context(), time.Now()); uid == "1" {
				<-time.After(time.Millisecond)
				r.isCluster("2")
				r.Rewrite(func(text string) string { return strings.Replace(text, "here", "elsewhere", 1) })
			}
			r.Truth(w, request)
		})
		r.DropWatches()
		elapse(time.Minute)
		if got := shown(t, lane, "ns/a"); !strings.Contains(got, "elsewhere") {
			t.Errorf("got %s in cluster 2, want its object", got)
		}
	})
}

// A lane that was listed without a known cluster reads it when it opens its next watches.
func TestUnknownClusterIsReadAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{ReplayLostWindows: true})
		r.isVersion("v1.37.0")
		r.tellsNoCluster()
		r.Put("ns/a", "here")
		lane := r.synced(t)
		r.isCluster("1")
		elapse(20 * time.Minute) // two watches end at their timeout
		r.isCluster("2")
		r.Rewrite(func(text string) string { return strings.Replace(text, "here", "elsewhere", 1) })
		r.DropWatches()
		elapse(time.Minute)
		if got := shown(t, lane, "ns/a"); !strings.Contains(got, "elsewhere") {
			t.Errorf("got %s in cluster 2, want its object", got)
		}
	})
}
