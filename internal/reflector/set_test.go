package reflector

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/testkit"
)

func TestReflectorsStartOnce(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lanes := make(chan *Reflector, 100)
		for range cap(lanes) {
			go func() {
				lane, err := r.set.Get(r.resource())
				if err != nil {
					t.Error(err)
				}
				lanes <- lane
			}()
		}
		first := <-lanes
		for range cap(lanes) - 1 {
			if lane := <-lanes; lane != first {
				t.Fatal("two lanes of one resource")
			}
		}
		synctest.Wait()
		if n := r.Asked(testkit.AskStreaming); n != 1 {
			t.Errorf("listed %d times", n)
		}
		if all := r.set.All(); len(all) != 1 || all[0] != first {
			t.Errorf("%d lanes run", len(all))
		}
	})
}

func TestSetStops(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		watcher, err := lane.Cache.Watch(cache.WatchOptions{Predicate: lane.Kind().Predicate("", nil, nil), Start: cache.FromNow()})
		if err != nil {
			t.Fatal(err)
		}
		r.stop()
		if _, err := r.set.Get(r.resource()); !errors.Is(err, ErrStopped) {
			t.Errorf("Get after the end: %v", err)
		}
		if _, err := lane.Cache.State(); !errors.Is(err, cache.ErrClosed) {
			t.Errorf("State after the end: %v", err)
		}
		if _, err := lane.Recent(t.Context(), time.Now(), fresh.Full); err == nil {
			t.Error("a stopped lane was proven fresh")
		}
		if watcher.Next(); watcher.Err() == nil {
			t.Error("a watcher did not end")
		}
		lane.AwaitSync(t.Context(), time.Hour) // returns
		if len(r.set.All()) != 0 {
			t.Error("lanes are left")
		}
	})
}

// Whatever a lane is busy with, it stops: what is left of it would keep the bubble from ending.
func TestReflectorsStopInTheMiddle(t *testing.T) {
	hang := func(w http.ResponseWriter, request *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-request.Context().Done()
	}
	for _, ask := range []testkit.Ask{testkit.AskProbe, testkit.AskStreaming, testkit.AskList, testkit.AskWatch, testkit.AskRoll, testkit.AskFence} {
		t.Run(string(ask), func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				switch ask {
				case testkit.AskWatch:
					r.synced(t)
					r.Script(ask, hang)
					r.DropWatches()
				case testkit.AskRoll:
					lane := r.synced(t)
					r.Script(ask, hang)
					go func() { _, _ = lane.Recent(t.Context(), time.Now(), fresh.Full) }()
				case testkit.AskFence:
					r.noRollCalls()
					lane := r.synced(t)
					r.Script(ask, hang)
					r.Elsewhere()
					go func() { _, _ = lane.Recent(t.Context(), time.Now(), fresh.Full) }()
				case testkit.AskList:
					r.Script(testkit.AskStreaming, testkit.Refuse(http.StatusBadRequest, "BadRequest"))
					r.Script(ask, hang)
				default:
					r.Script(ask, hang)
				}
				r.lane(t)
				elapse(time.Second)
				if r.Asked(ask) == 0 {
					t.Fatal("the lane is busy with something else")
				}
				began := time.Now()
				r.stop()
				if took := time.Since(began); took > time.Second {
					t.Errorf("stopping took %s", took)
				}
			})
		})
	}
}

func TestIdleLanesStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{Idle: 5 * time.Minute})
		lane := r.synced(t)
		for range 10 { // somebody asks
			elapse(4 * time.Minute)
			if r.lane(t) != lane {
				t.Fatal("a lane in use was stopped")
			}
		}
		watcher, err := lane.Cache.Watch(cache.WatchOptions{Predicate: lane.Kind().Predicate("", nil, nil), Start: cache.FromNow()})
		if err != nil {
			t.Fatal(err)
		}
		elapse(time.Hour)
		watcher.Close()
		elapse(4 * time.Minute) // a client whose watch ended comes back
		if r.lane(t) != lane {
			t.Fatal("a lane was stopped right after its last watcher left")
		}
		elapse(6 * time.Minute)
		if len(r.set.All()) != 0 {
			t.Error("a lane that nobody reads runs on")
		}
		if _, err := lane.Cache.State(); !errors.Is(err, cache.ErrClosed) {
			t.Errorf("the idle lane is not closed: %v", err)
		}
		if again := r.synced(t); again == lane {
			t.Error("the stopped lane was given out")
		}
	})
}

// A request and the janitor meet at the moment a lane becomes idle: nobody is given a lane that is being stopped.
func TestGetMeetsTheJanitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{Idle: 10 * time.Second})
		for range 50 {
			lane := r.synced(t)
			var wait sync.WaitGroup
			lane.used.Store(time.Now().Add(-10*time.Second - time.Millisecond).UnixNano())
			wait.Go(r.set.stopIdle)
			wait.Go(func() {
				got, err := r.set.Get(r.resource())
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := got.Cache.State(); errors.Is(err, cache.ErrClosed) {
					t.Error("a closed lane was given out")
				}
			})
			wait.Wait()
		}
	})
}

// What the upstream refuses is its own to answer, and asked for again only when somebody wants it, some seconds later.
func TestRefused(t *testing.T) {
	for _, code := range []int{401, 403, 404, 405} {
		for _, ask := range []testkit.Ask{testkit.AskProbe, testkit.AskStreaming, testkit.AskWatch} {
			t.Run(fmt.Sprint(code, " ", ask), func(t *testing.T) {
				inBubble(t, configMaps, func(t *testing.T, r *rig) {
					refuse := testkit.Refuse(code, "Refused")
					if ask == testkit.AskWatch {
						r.synced(t)
						r.Script(ask, refuse)
						r.DropWatches()
					} else {
						r.Script(ask, refuse)
					}
					lane := r.lane(t)
					elapse(time.Second)
					failure := lane.Failure()
					if failure == nil || !failure.Refused || failure.Gone() != (code == 404) {
						t.Fatalf("the failure is %+v", failure)
					}
					if _, err := lane.Cache.State(); !errors.Is(err, cache.ErrClosed) {
						t.Errorf("a refused lane gives %v", err)
					}
					elapse(time.Hour)
					if n := r.Asked(ask); n != 1 {
						t.Errorf("asked %d times although nobody wants it", n)
					}
					if again := r.lane(t); again == lane {
						t.Fatal("the refusal is believed for ever")
					}
					elapse(time.Second)
					for range 100 {
						r.lane(t)
					}
					synctest.Wait()
					if n := r.Asked(ask); ask != testkit.AskWatch && n != 2 {
						t.Errorf("asked %d times, want once more", n)
					}
					r.Script(ask, nil)
					elapse(refusedFor + time.Second)
					r.synced(t)
				})
			})
		}
	}
}

// A refused lane that is replaced leaves nothing behind, however often.
func TestRefusedLanesAreStopped(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script(testkit.AskProbe, testkit.Refuse(http.StatusForbidden, "Forbidden"))
		var last *Reflector
		for range 10 {
			lane := r.lane(t)
			synctest.Wait()
			if last != nil && last.life.Err() == nil {
				t.Fatal("the life of a replaced lane goes on")
			}
			last = lane
			elapse(refusedFor + time.Second)
		}
	})
}

const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.io"

// crd is the definition of widgets with one selectable field.
func crd(uid string, generation int, field string) http.HandlerFunc {
	return text(fmt.Sprintf(`{"kind":"CustomResourceDefinition","metadata":{"name":"widgets.ex.io","uid":%q,"generation":%d},"spec":{"versions":[`+
		`{"name":"v1","selectableFields":[{"jsonPath":%q}]}]}}`, uid, generation, field))
}

// kube-apiserver ends the watches of a custom resource when its definition changes. The lane is not filled on with what was
// read under the old definition.
func TestRedefined(t *testing.T) {
	for name, change := range map[string]http.HandlerFunc{
		"selectable field":        crd("u1", 2, ".spec.size"),
		"deleted and made anew":   crd("u2", 1, ".spec.v"),
		"no longer to be read":    testkit.Refuse(http.StatusForbidden, "Forbidden"),
		"read, but not as JSON":   nil,
		"the same as it was ever": crd("u1", 1, ".spec.v"),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, widgets, func(t *testing.T, r *rig) {
				r.Put("ns/a", "1")
				r.Script(crdPath, crd("u1", 1, ".spec.v"))
				lane := r.synced(t)
				if got := fieldLabels(lane); !cmp.Equal(got, []string{"spec.v"}) {
					t.Fatalf("selected by %v", got)
				}
				if change == nil {
					change = text("<html>")
				}
				r.Script(crdPath, change)
				r.Put("ns/a", "2")
				r.DropWatches()
				elapse(time.Minute)
				failure, again := lane.Failure(), r.lane(t)
				switch name {
				case "the same as it was ever":
					if failure != nil || again != lane {
						t.Errorf("the lane ended: %+v", failure)
					}
				case "read, but not as JSON":
					if again != lane || lane.StaleFor() < 50*time.Second {
						t.Error("the lane goes on without knowing what it reads")
					}
				default:
					if failure == nil || !failure.Gone() || again == lane {
						t.Fatalf("the lane goes on: %+v", failure)
					}
					again = r.synced(t)
					want := []string{}
					switch name {
					case "selectable field":
						want = []string{"spec.size"}
					case "deleted and made anew":
						want = []string{"spec.v"}
					}
					if diff := cmp.Diff(want, fieldLabels(again)); diff != "" {
						t.Error(diff)
					}
				}
			})
		})
	}
}

func fieldLabels(lane *Reflector) []string {
	all := []string{}
	for _, field := range lane.Kind().Fields() {
		all = append(all, field.Label)
	}
	return all
}

// A resource that is another one now is not kept waiting for the refusal of the old one to grow old.
func TestResourceOfAnotherScope(t *testing.T) {
	inBubble(t, widgets, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		r.Script(testkit.AskProbe, testkit.Refuse(http.StatusNotFound, "NotFound"))
		r.DropWatches()
		elapse(time.Second)
		other := r.resource()
		other.Namespaced = false
		if again, err := r.set.Get(other); err != nil || again == lane || again.Resource != other {
			t.Errorf("the lane of the old resource was given out: %v", err)
		}
	})
}

// A lane of what was taken for built-in, or for custom, and is not, ends, and the catalog is told to look again.
func TestTakenForAnotherKind(t *testing.T) {
	for _, kind := range []testkit.FakeKind{configMaps, widgets} {
		t.Run(kind.Kind, func(t *testing.T) {
			inBubble(t, kind, func(t *testing.T, r *rig) {
				other := r.resource()
				other.Custom = !other.Custom
				wrong, err := r.set.Get(other)
				if err != nil {
					t.Fatal(err)
				}
				elapse(time.Second)
				if failure := wrong.Failure(); failure == nil || !failure.Gone() {
					t.Fatalf("the failure is %+v", failure)
				}
				if wrong.Kind() != nil {
					t.Error("requests are parsed by the wrong kind")
				}
				if right := r.synced(t); right == wrong {
					t.Error("the lane of another kind was given out")
				}
			})
		})
	}
}

// The columns come with a stream's first frame. When they differ, the cells that the lane has are of another Table.
func TestReprinted(t *testing.T) {
	const columns = `[{"name":"Name","type":"string","format":"name","description":"Name","priority":0},` +
		`{"name":"Size","type":"integer","format":"","description":"","priority":0}]`
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		r.SetColumns(columns)
		elapse(time.Minute)
		r.DropWatches()
		elapse(time.Minute)
		r.Put("ns/b", "1")
		elapse(time.Minute)
		state := stateOf(t, lane)
		if diff := cmp.Diff(columns, string(state.Shape().RawColumns)); diff != "" {
			t.Error(diff)
		}
		if got := contents(t, lane); len(got) != 2 {
			t.Errorf("the lane holds %v", got)
		}
		if r.relisted.Load() != 1 {
			t.Errorf("relisted %d times", r.relisted.Load())
		}
	})
}

// An etcd that comes back from a backup is behind the lane. kube-apiserver would resume the watch all the same, in silence.
func TestRestored(t *testing.T) {
	for _, how := range []string{"resume", "probe", "roll call"} {
		t.Run(how, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				for i := range 20 {
					r.Put(fmt.Sprintf("ns/%02d", i), "1")
				}
				lane := r.synced(t)
				r.Restore(5)
				r.Put("ns/old", "1")
				if how == "probe" {
					r.noRollCalls()
				}
				if how == "resume" {
					r.DropWatches()
				} else if _, err := lane.Recent(t.Context(), time.Now(), fresh.Full); err == nil {
					t.Error("what the upstream lost was proven fresh")
				}
				elapse(time.Minute)
				if diff := cmp.Diff([]string{"ns/old@6"}, contents(t, lane)); diff != "" {
					t.Error(diff)
				}
				if state, err := lane.Recent(t.Context(), time.Now(), fresh.Full); err != nil || state.RV() != 6 {
					t.Errorf("the lane is not fresh again: %v", err)
				}
			})
		})
	}
}
