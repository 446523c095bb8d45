package reflector

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

const kubeSystem = testkit.Ask("/api/v1/namespaces/kube-system")

// An address may lead to another cluster from one connection to the next, as to a standby that was restored from a
// backup and has higher versions: there a watch from the lane's version brings what happened elsewhere.
func TestWatchIsNotResumedInAnotherCluster(t *testing.T) {
	for name, c := range map[string]struct {
		before, after func(*rig)
		listed        int64 // again
		later         func(*rig)
	}{
		"another cluster":             {func(r *rig) { r.isCluster("1") }, func(r *rig) { r.isCluster("2") }, 1, nil},
		"the same":                    {func(r *rig) { r.isCluster("1") }, func(r *rig) { r.isCluster("1") }, 0, nil},
		"it was never told":           {(*rig).tellsNoCluster, (*rig).tellsNoCluster, 0, nil},
		"it is not told any more":     {func(r *rig) { r.isCluster("1") }, (*rig).tellsNoCluster, 0, nil},
		"it is told when asked again": {func(r *rig) { r.isCluster("1") }, (*rig).tellsNoCluster, 1, func(r *rig) { r.isCluster("2") }},
	} {
		t.Run(name, func(t *testing.T) {
			for _, bridges := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
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
						elapse(15 * time.Minute) // until the watch has ended in its time
					}
					if n := r.relisted.Load(); n != c.listed || lane.StaleFor() > outageEvery {
						t.Errorf("listed again %d times, want %d; %s old", n, c.listed, lane.StaleFor())
					}
					if got, anew := shown(t, lane, "ns/a"), c.listed > 0; strings.Contains(got, "elsewhere") != anew {
						t.Errorf("the lane shows %s", got)
					}
					if watcher.Next(); (watcher.Err() != nil) != (c.listed > 0) {
						t.Errorf("the watcher ended with %v", watcher.Err())
					}
					r.DropWatches()
					elapse(time.Minute)
					if n := r.relisted.Load(); n != c.listed {
						t.Errorf("listed again %d times after another end of the watch", n)
					}
				})
			}
		})
	}
}

// namedEncoding is JSON by another name.
type namedEncoding struct {
	jsonwire.Encoding
	name string
}

func (e namedEncoding) Name() string { return e.name }

// Lanes whose watches break off together share the question, and watches that end in their time cost none.
func TestClusterQuestionsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		elapse(time.Hour)
		if n := answers.Load() - before; n != 0 {
			t.Errorf("asked %d times in peace", n)
		}
		r.DropWatches()
		elapse(time.Minute)
		// The watches are opened within 100 ms. A question takes 10 ms, and lanes that open theirs meanwhile share the next.
		if n := answers.Load() - before; n < 1 || n > 12 {
			t.Errorf("got %d questions for 21 watches that broke off, want 1 to 12", n)
		}
	})
}

// The address may lead elsewhere a moment after another lane has received its answer.
func TestClusterIsAskedForWhenTheWatchIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{})
		r.isVersion("v1.37.0")
		r.isCluster("1")
		r.Put("ns/a", "here")
		lane := r.synced(t)
		elapse(time.Minute)
		r.Script(testkit.AskWatch, func(w http.ResponseWriter, request *http.Request) {
			if uid := lane.writer.clusters.since(request.Context(), time.Now()); uid == "1" {
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

// A lane that was listed while the upstream did not tell its cluster asks when its next watches are opened.
func TestClusterThatWasNotToldIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{ReplayLostWindows: true})
		r.isVersion("v1.37.0")
		r.tellsNoCluster()
		r.Put("ns/a", "here")
		lane := r.synced(t)
		r.isCluster("1")
		elapse(20 * time.Minute) // two watches end in their time
		r.isCluster("2")
		r.Rewrite(func(text string) string { return strings.Replace(text, "here", "elsewhere", 1) })
		r.DropWatches()
		elapse(time.Minute)
		if got := shown(t, lane, "ns/a"); !strings.Contains(got, "elsewhere") {
			t.Errorf("got %s in cluster 2, want its object", got)
		}
	})
}
