package reflector

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/testkit"
)

// inGap runs a test with a lane that missed some events, and whose upstream has forgotten them: ns/a was changed, ns/b
// was deleted, ns/c was created.
func inGap(t *testing.T, config Config, meanwhile func(*rig), test func(*testing.T, *rig, *Reflector, *cache.Watcher)) {
	t.Helper()
	inGapOf(t, config, func(r *rig) { r.isCluster("1") }, meanwhile, test)
}

// inGapOf is inGap with an upstream that says what it is.
func inGapOf(t *testing.T, config Config, before, meanwhile func(*rig), test func(*testing.T, *rig, *Reflector, *cache.Watcher)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
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

func told(w *cache.Watcher) (all []string) {
	for e, ok := w.Next(); ok; e, ok = w.Next() {
		all = append(all, fmt.Sprintf("%s %s@%d", e.Type, e.Object.Key(), e.RV))
	}
	return all
}

func TestGapIsBridged(t *testing.T) {
	inGap(t, Config{ReplayLostWindows: true}, nil, func(t *testing.T, r *rig, lane *Reflector, w *cache.Watcher) {
		want := []string{"DELETED ns/b@3", "MODIFIED ns/a@4", "ADDED ns/c@7"}
		if diff := cmp.Diff(want, told(w)); diff != "" || w.Err() != nil {
			t.Errorf("%v\n%s", w.Err(), diff)
		}
		if got := *r.gaps.Load(); got != replayed || r.relisted.Load() == 0 {
			t.Errorf("the outcome is %q", got)
		}
		rv := r.Put("ns/c", "2")
		elapse(time.Minute)
		if said := told(w); !slices.Equal(said, []string{fmt.Sprintf("MODIFIED ns/c@%d", rv)}) {
			t.Errorf("later: %v", said)
		}
		if diff := cmp.Diff([]string{"ns/a@4", fmt.Sprintf("ns/c@%d", rv)}, contents(t, lane)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestGapIsNotBridged(t *testing.T) {
	on := Config{ReplayLostWindows: true}
	for name, c := range map[string]struct {
		config    Config
		meanwhile func(*rig)
		outcome   string
	}{
		"off":                     {Config{}, nil, replayOff},
		"another version":         {on, func(r *rig) { r.isVersion("v1.38.0") }, otherVersion},
		"another cluster":         {on, func(r *rig) { r.isCluster("2") }, otherCluster},
		"a cluster that it was":   {on, (*rig).tellsNoCluster, otherCluster},
		"other columns":           {on, func(r *rig) { r.SetColumns(`[{"name":"Other","type":"string"}]`) }, otherRepresentation},
		"a backup":                {on, func(r *rig) { r.Restore(2) }, otherPast},
		"a backup that has moved": {on, func(r *rig) { r.Restore(2); r.Put("ns/d", "1") }, otherPast},
		"another past": {on, func(r *rig) {
			r.Rewrite(func(text string) string {
				return strings.Replace(text, `"resourceVersion":"4"`, `"resourceVersion":"1"`, 1)
			})
		}, otherPast},
	} {
		t.Run(name, func(t *testing.T) {
			inGap(t, c.config, c.meanwhile, func(t *testing.T, r *rig, _ *Reflector, w *cache.Watcher) {
				said := told(w)
				if expired := (*cache.ExpiredError)(nil); len(said) > 0 || !errors.As(w.Err(), &expired) {
					t.Errorf("told %v, %v", said, w.Err())
				}
				wasSetBack := c.outcome == otherPast || c.outcome == setBack
				if got := r.gaps.Load(); got == nil || *got != c.outcome || wasSetBack != (r.lanes.otherPasts.Load() > 0) {
					t.Errorf("the outcome is %v, want %s", got, c.outcome)
				}
			})
		})
	}
}

// A version that is not told is no other one: the bytes of what has not changed tell.
func TestGapOfAnUnknownVersion(t *testing.T) {
	unknown := func(r *rig) { r.Script(versionPath, nil) }
	inGap(t, Config{ReplayLostWindows: true}, unknown, func(t *testing.T, r *rig, _ *Reflector, w *cache.Watcher) {
		if said := told(w); len(said) != 3 || w.Err() != nil || *r.gaps.Load() != replayed {
			t.Errorf("told %v, %v; the outcome is %s", said, w.Err(), *r.gaps.Load())
		}
	})
}

// Who may not read the cluster's UID does without.
func TestGapOfAnUnknownCluster(t *testing.T) {
	inGapOf(t, Config{ReplayLostWindows: true}, (*rig).tellsNoCluster, nil, func(t *testing.T, _ *rig, _ *Reflector, w *cache.Watcher) {
		if said := told(w); len(said) != 3 || w.Err() != nil {
			t.Errorf("told %v, %v", said, w.Err())
		}
	})
}

// What the cluster's UID was is not forgotten when it is not told for once.
func TestGapAfterTheClusterWasNotTold(t *testing.T) {
	again := func(r *rig) {
		r.tellsNoCluster()
		r.SetOffline(false)
		r.Script(testkit.AskWatch, nil)
		r.DropWatches()
		elapse(time.Minute) // listed and not bridged, and remembered
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.isCluster("2")
	}
	inGap(t, Config{ReplayLostWindows: true}, again, func(t *testing.T, r *rig, _ *Reflector, _ *cache.Watcher) {
		if got := r.gaps.Load(); got == nil || *got != otherCluster {
			t.Errorf("the outcome is %v", got)
		}
	})
}

// TestGapWhereAnotherLaneWasSetBack: nothing that this lane has says that a backup was restored. Another lane's does.
func TestGapWhereAnotherLaneWasSetBack(t *testing.T) {
	otherPasts := func(r *rig) { r.lanes.otherPasts.Add(1) }
	inGap(t, Config{ReplayLostWindows: true}, otherPasts, func(t *testing.T, r *rig, lane *Reflector, w *cache.Watcher) {
		if said := told(w); len(said) > 0 || w.Err() == nil || *r.gaps.Load() != otherPast {
			t.Errorf("told %v, %v; the outcome is %v", said, w.Err(), *r.gaps.Load())
		}
		w = watchAll(t, lane) // what was listed since is of the new past
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.DropWatches()
		elapse(time.Minute)
		if w.Err() != nil || *r.gaps.Load() != replayed {
			t.Errorf("later: %v; the outcome is %v", w.Err(), *r.gaps.Load())
		}
	})
}

// A comparison that takes longer than the pause that a streaming list may make does not cost the lane its watch.
func TestGapThatTakesLong(t *testing.T) {
	reconnects := map[string]int64{}
	for name, meanwhile := range map[string]func(*rig){
		"at once": nil,
		"later": func(r *rig) {
			r.lanes.clusters.seat <- struct{}{} // somebody asks for what the comparison waits for
			go func() { <-time.After(3 * initialWait); <-r.lanes.clusters.seat }()
		},
	} {
		inGap(t, Config{ReplayLostWindows: true}, meanwhile, func(t *testing.T, r *rig, _ *Reflector, w *cache.Watcher) {
			if said := told(w); len(said) != 3 || *r.gaps.Load() != replayed {
				t.Errorf("%s: told %v, the outcome is %s", name, said, *r.gaps.Load())
			}
			reconnects[name] = r.reconnected.Load()
		})
	}
	if reconnects["later"] != reconnects["at once"] {
		t.Errorf("watches were opened again so often: %v", reconnects)
	}
}

// TestGapWhereAReaderAsksMeanwhile: a reader has the roll called when the lane has asked how far the upstream is and
// before it lists. The list may be of before the roll call, which is no sign of a backup that was restored.
func TestGapWhereAReaderAsksMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{ReplayLostWindows: true, PagedFrom: 1})
		r.isVersion("v1.37.0")
		r.isCluster("1")
		r.Put("ns/a", "1")
		r.Put("ns/b", "1")
		lane := r.synced(t)
		watcher := watchAll(t, lane)
		r.Put("ns/b", "2") // else a listing would count as one whose version was forgotten too soon
		elapse(time.Second)
		learned, rolls, lists := "", r.Asked(testkit.AskRoll), r.Asked(testkit.AskList)
		r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
			learned = fmt.Sprint(r.RV())
			answer := httptest.NewRecorder()
			r.Truth(answer, request)
			r.Elsewhere()
			_, _, _ = lane.Recent(t.Context(), time.Now(), fresh.Endless())
			_, _ = w.Write(answer.Body.Bytes())
		})
		r.Script(testkit.AskList, func(w http.ResponseWriter, request *http.Request) {
			answer := httptest.NewRecorder()
			r.Truth(answer, request)
			_, _ = w.Write(bytes.Replace(answer.Body.Bytes(), fmt.Appendf(nil, `"resourceVersion":"%d"`, r.RV()), fmt.Appendf(nil, `"resourceVersion":%q`, learned), 1))
		})
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.DropWatches()
		elapse(time.Minute)
		if r.Asked(testkit.AskRoll) == rolls || r.Asked(testkit.AskList) == lists {
			t.Fatalf("got %d roll calls and %d lists, want both", r.Asked(testkit.AskRoll)-rolls, r.Asked(testkit.AskList)-lists)
		}
		if n := r.lanes.otherPasts.Load(); n != 0 || watcher.Err() != nil {
			t.Errorf("got %d other pasts, the outcome %q and %v, want none", n, *r.gaps.Load(), watcher.Err())
		}
	})
}
