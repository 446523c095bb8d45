package reflector

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// inLostWindow runs a test with a lane that lost some events, because its upstream has forgotten them: ns/a was
// changed, ns/b was deleted, ns/c was created.
func inLostWindow(t *testing.T, config Config, meanwhile func(*rig), test func(*testing.T, *rig, *Reflector, *cache.Watcher)) {
	t.Helper()
	inLostWindowOf(t, config, func(r *rig) { r.isCluster("1") }, meanwhile, test)
}

// inLostWindowOf is inLostWindow with an upstream that provides its version and cluster.
func inLostWindowOf(t *testing.T, config Config, before, meanwhile func(*rig), test func(*testing.T, *rig, *Reflector, *cache.Watcher)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, config)
		r.isVersion("v1.37.0")
		before(r)
		r.Put("ns/a", "1")
		r.Put("ns/b", "1")
		lane := r.synced(t)
		watcher := watchAll(t, lane)
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.SetOffline(true)
		r.Put("ns/a", "2")
		r.Elsewhere()
		r.Delete("ns/b")
		r.Put("ns/c", "1")
		r.Elsewhere()
		if meanwhile != nil {
			meanwhile(r)
		}
		r.SetOffline(false)
		r.DropWatches()
		elapse(time.Minute)
		r.Script(testkit.AskWatch, nil)
		test(t, r, lane, watcher)
	})
}

func (r *rig) isCluster(uid string) {
	r.Script("/api/v1/namespaces/kube-system", text(fmt.Sprintf(`{"metadata":{"uid":%q}}`, uid)))
}

func (r *rig) tellsNoCluster() {
	r.Script("/api/v1/namespaces/kube-system", testkit.Refuse(http.StatusForbidden, "Forbidden"))
}

func eventsOf(w *cache.Watcher) (all []string) {
	for e, ok := w.Next(); ok; e, ok = w.Next() {
		all = append(all, fmt.Sprintf("%s %s@%d", e.Type, e.Object.Key(), e.RV))
	}
	return all
}

func TestLostWindowIsReplayed(t *testing.T) {
	inLostWindow(t, Config{ReplayLostWindows: true}, nil, func(t *testing.T, r *rig, lane *Reflector, w *cache.Watcher) {
		want := []string{"DELETED ns/b@3", "MODIFIED ns/a@4", "ADDED ns/c@7"}
		if diff := cmp.Diff(want, eventsOf(w)); diff != "" || w.Err() != nil {
			t.Errorf("%v\n%s", w.Err(), diff)
		}
		if got := *r.outcome.Load(); got != replayed || r.relisted.Load() == 0 {
			t.Errorf("got outcome %q", got)
		}
		rv := r.Put("ns/c", "2")
		elapse(time.Minute)
		if got := eventsOf(w); !slices.Equal(got, []string{fmt.Sprintf("MODIFIED ns/c@%d", rv)}) {
			t.Errorf("later: got %v", got)
		}
		if diff := cmp.Diff([]string{"ns/a@4", fmt.Sprintf("ns/c@%d", rv)}, contents(t, lane)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLostWindowIsNotReplayed(t *testing.T) {
	on := Config{ReplayLostWindows: true}
	for name, c := range map[string]struct {
		config    Config
		meanwhile func(*rig)
		outcome   string
	}{
		"off":                        {Config{}, nil, replayOff},
		"another version":            {on, func(r *rig) { r.isVersion("v1.38.0") }, otherVersion},
		"another cluster":            {on, func(r *rig) { r.isCluster("2") }, otherCluster},
		"an unknown cluster":         {on, (*rig).tellsNoCluster, otherCluster},
		"other columns":              {on, func(r *rig) { r.SetColumns(`[{"name":"Other","type":"string"}]`) }, otherRepresentation},
		"a backup":                   {on, func(r *rig) { r.Restore(2) }, otherPast},
		"a backup with later writes": {on, func(r *rig) { r.Restore(2); r.Put("ns/d", "1") }, otherPast},
		"another history": {on, func(r *rig) {
			r.Rewrite(func(text string) string {
				return strings.Replace(text, `"resourceVersion":"4"`, `"resourceVersion":"1"`, 1)
			})
		}, otherPast},
	} {
		t.Run(name, func(t *testing.T) {
			inLostWindow(t, c.config, c.meanwhile, func(t *testing.T, r *rig, _ *Reflector, w *cache.Watcher) {
				got := eventsOf(w)
				if expired := (*cache.ExpiredError)(nil); len(got) > 0 || !errors.As(w.Err(), &expired) {
					t.Errorf("got events %v, %v", got, w.Err())
				}
				wasSetBack := c.outcome == otherPast || c.outcome == setBack
				if got := r.outcome.Load(); got == nil || *got != c.outcome || wasSetBack != (r.lanes.otherPasts.Load() > 0) {
					t.Errorf("got outcome %v, want %s", got, c.outcome)
				}
			})
		})
	}
}

// An unknown version counts as unchanged. The bytes of unchanged objects are compared.
func TestLostWindowOfUnknownVersionIsReplayed(t *testing.T) {
	unknown := func(r *rig) { r.Script(versionPath, nil) }
	inLostWindow(t, Config{ReplayLostWindows: true}, unknown, func(t *testing.T, r *rig, _ *Reflector, w *cache.Watcher) {
		if got := eventsOf(w); len(got) != 3 || w.Err() != nil || *r.outcome.Load() != replayed {
			t.Errorf("got events %v, %v; got outcome %s", got, w.Err(), *r.outcome.Load())
		}
	})
}

// The differences are replayed if the facade may not read the cluster's UID.
func TestLostWindowOfUnknownClusterIsReplayed(t *testing.T) {
	inLostWindowOf(t, Config{ReplayLostWindows: true}, (*rig).tellsNoCluster, nil, func(t *testing.T, _ *rig, _ *Reflector, w *cache.Watcher) {
		if got := eventsOf(w); len(got) != 3 || w.Err() != nil {
			t.Errorf("got events %v, %v", got, w.Err())
		}
	})
}

// A failed read of the cluster's UID keeps the last one.
func TestFailedReadKeepsCluster(t *testing.T) {
	again := func(r *rig) {
		r.tellsNoCluster()
		r.SetOffline(false)
		r.Script(testkit.AskWatch, nil)
		r.DropWatches()
		elapse(time.Minute) // listed without a replay; the UID is kept
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.isCluster("2")
	}
	inLostWindow(t, Config{ReplayLostWindows: true}, again, func(t *testing.T, r *rig, _ *Reflector, _ *cache.Watcher) {
		if got := r.outcome.Load(); got == nil || *got != otherCluster {
			t.Errorf("got outcome %v", got)
		}
	})
}

// Another lane has found that a backup was restored. This lane has no object that shows it.
func TestLostWindowIsNotReplayedAfterAnotherLaneWasSetBack(t *testing.T) {
	otherPasts := func(r *rig) { r.lanes.otherPasts.Add(1) }
	inLostWindow(t, Config{ReplayLostWindows: true}, otherPasts, func(t *testing.T, r *rig, lane *Reflector, w *cache.Watcher) {
		if got := eventsOf(w); len(got) > 0 || w.Err() == nil || *r.outcome.Load() != otherPast {
			t.Errorf("got events %v, %v; got outcome %v", got, w.Err(), *r.outcome.Load())
		}
		w = watchAll(t, lane) // the new list is of the new history
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.DropWatches()
		elapse(time.Minute)
		if w.Err() != nil || *r.outcome.Load() != replayed {
			t.Errorf("later: got %v; got outcome %v", w.Err(), *r.outcome.Load())
		}
	})
}

// A comparison that takes longer than initialWait does not cost the lane its watch.
func TestSlowReplayKeepsWatch(t *testing.T) {
	reconnects := map[string]int64{}
	for name, meanwhile := range map[string]func(*rig){
		"immediately": nil,
		"later": func(r *rig) {
			r.lanes.clusters.seat <- struct{}{} // another lane reads the UID that the comparison needs
			go func() { <-time.After(3 * initialWait); <-r.lanes.clusters.seat }()
		},
	} {
		inLostWindow(t, Config{ReplayLostWindows: true}, meanwhile, func(t *testing.T, r *rig, _ *Reflector, w *cache.Watcher) {
			if got := eventsOf(w); len(got) != 3 || *r.outcome.Load() != replayed {
				t.Errorf("%s: got events %v, got outcome %s", name, got, *r.outcome.Load())
			}
			reconnects[name] = r.reconnected.Load()
		})
	}
	if reconnects["later"] != reconnects["immediately"] {
		t.Errorf("got %v reconnects, want the same number", reconnects)
	}
}

// A reader makes a roll call after the lane read the upstream's version and before it lists. The list may be older than
// the roll call, which does not show that a backup was restored.
func TestRollCallDuringReplayIsNoSetBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{ReplayLostWindows: true, PagedFrom: 1})
		r.isVersion("v1.37.0")
		r.isCluster("1")
		r.Put("ns/a", "1")
		r.Put("ns/b", "1")
		lane := r.synced(t)
		watcher := watchAll(t, lane)
		r.Put("ns/b", "2") // otherwise the version of the list would count as forgotten too soon
		elapse(time.Second)
		var learned atomic.Uint64 // by the last probe
		rolls, lists := r.Asked(testkit.AskRoll), r.Asked(testkit.AskList)
		r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
			learned.Store(r.RV())
			answer := httptest.NewRecorder()
			r.Truth(answer, request)
			r.Elsewhere()
			_, _, _ = lane.Recent(t.Context(), time.Now(), fresh.Endless())
			_, _ = w.Write(answer.Body.Bytes())
		})
		r.Script(testkit.AskList, func(w http.ResponseWriter, request *http.Request) {
			answer := httptest.NewRecorder()
			r.Truth(answer, request)
			_, _ = w.Write(bytes.Replace(answer.Body.Bytes(), fmt.Appendf(nil, `"resourceVersion":"%d"`, r.RV()),
				fmt.Appendf(nil, `"resourceVersion":"%d"`, learned.Load()), 1))
		})
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.DropWatches()
		elapse(time.Minute)
		if r.Asked(testkit.AskRoll) == rolls || r.Asked(testkit.AskList) == lists {
			t.Fatalf("got %d roll calls and %d lists, want both", r.Asked(testkit.AskRoll)-rolls, r.Asked(testkit.AskList)-lists)
		}
		if n := r.lanes.otherPasts.Load(); n != 0 || watcher.Err() != nil {
			t.Errorf("got %d other histories, outcome %q and watcher error %v, want none", n, *r.outcome.Load(), watcher.Err())
		}
	})
}
