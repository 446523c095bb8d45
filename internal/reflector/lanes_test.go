package reflector

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

func TestReflectorsStartOnce(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lanes := make(chan *Reflector, 100)
		for range cap(lanes) {
			go func() {
				lane, err := r.lanes.Get(r.resource(), jsonwire.Encoding{})
				if err != nil {
					t.Error(err)
				}
				lanes <- lane
			}()
		}
		first := <-lanes
		for range cap(lanes) - 1 {
			if lane := <-lanes; lane != first {
				t.Fatal("got two lanes of one resource, want one")
			}
		}
		synctest.Wait()
		if n := r.Asked(testkit.AskStreaming); n != 1 {
			t.Errorf("got %d lists, want 1", n)
		}
		if all := r.lanes.All(); len(all) != 1 || all[0] != first {
			t.Errorf("got %d lanes, want 1", len(all))
		}
	})
}

func TestLanesStop(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		watcher, err := lane.Cache.Watch(cache.WatchOptions{Predicate: lane.Kind().Predicate("", nil, nil), Start: cache.FromNow()})
		if err != nil {
			t.Fatal(err)
		}
		r.stop()
		if _, err := r.lanes.Get(r.resource(), jsonwire.Encoding{}); !errors.Is(err, ErrStopped) {
			t.Errorf("Get after the stop: got %v", err)
		}
		if _, err := lane.Cache.State(); !errors.Is(err, cache.ErrClosed) {
			t.Errorf("State after the stop: got %v", err)
		}
		if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err == nil {
			t.Error("got a fresh State of a stopped lane")
		}
		if watcher.Next(); watcher.Err() == nil {
			t.Error("a watcher did not end")
		}
		lane.AwaitSync(t.Context(), time.Hour) // returns
		if len(r.lanes.All()) != 0 {
			t.Error("got lanes after the stop, want none")
		}
	})
}

// A lane stops in the middle of any request. Otherwise a goroutine would keep the bubble from ending.
func TestReflectorsStopInTheMiddle(t *testing.T) {
	hang := func(w http.ResponseWriter, request *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-request.Context().Done()
	}
	for _, ask := range []testkit.Ask{testkit.AskProbe, testkit.AskStreaming, testkit.AskList, testkit.AskWatch, testkit.AskRoll, testkit.AskProgressWatch} {
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
					go func() { _, _, _ = lane.Recent(t.Context(), time.Now(), fresh.Endless()) }()
				case testkit.AskProgressWatch:
					r.noRollCalls()
					lane := r.synced(t)
					r.Script(ask, hang)
					r.Elsewhere()
					go func() { _, _, _ = lane.Recent(t.Context(), time.Now(), fresh.Endless()) }()
				case testkit.AskList:
					r.Script(testkit.AskStreaming, testkit.Refuse(http.StatusBadRequest, "BadRequest"))
					r.Script(ask, hang)
				default:
					r.Script(ask, hang)
				}
				r.lane(t)
				elapse(time.Second)
				if r.Asked(ask) == 0 {
					t.Fatal("the lane sent another request")
				}
				began := time.Now()
				r.stop()
				if took := time.Since(began); took > time.Second {
					t.Errorf("got a stop after %s", took)
				}
			})
		})
	}
}

func TestIdleLanesStop(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{Idle: 5 * time.Minute})
		lane := r.synced(t)
		for range 10 { // a request arrives
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
		elapse(4 * time.Minute) // a client whose watch ended returns
		if r.lane(t) != lane {
			t.Fatal("a lane was stopped soon after its last watcher left")
		}
		elapse(6 * time.Minute)
		if len(r.lanes.All()) != 0 {
			t.Error("an unread lane was not stopped")
		}
		if _, err := lane.Cache.State(); !errors.Is(err, cache.ErrClosed) {
			t.Errorf("got %v from an idle lane, want a closed one", err)
		}
		if again := r.synced(t); again == lane {
			t.Error("Get returned the stopped lane")
		}
	})
}

// A request and the janitor arrive when a lane becomes idle. Get never returns a lane that is being stopped.
func TestGetNeverReturnsStoppingLane(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{Idle: 10 * time.Second})
		for range 50 {
			lane := r.synced(t)
			var wait sync.WaitGroup
			lane.used.Store(int64(time.Since(lane.began) - 10*time.Second - time.Millisecond))
			wait.Go(r.lanes.stopIdle)
			wait.Go(func() {
				got, err := r.lanes.Get(r.resource(), jsonwire.Encoding{})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := got.Cache.State(); errors.Is(err, cache.ErrClosed) {
					t.Error("Get returned a closed lane")
				}
			})
			wait.Wait()
		}
	})
}

// Requests for a resource go to the upstream if it refuses a lane without a State or does not serve the resource. The
// lane is tried again only after a request some seconds later.
func TestRefusedLaneEnds(t *testing.T) {
	for _, code := range []int{401, 403, 404, 405} {
		for _, ask := range []testkit.Ask{testkit.AskProbe, testkit.AskStreaming, testkit.AskWatch} {
			if ask == testkit.AskWatch && (code == 401 || code == 403) {
				continue // TestRefusalOfASyncedLane
			}
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
						t.Fatalf("got failure %+v", failure)
					}
					if _, err := lane.Cache.State(); !errors.Is(err, cache.ErrClosed) {
						t.Errorf("got %v from a refused lane", err)
					}
					elapse(time.Hour)
					if n := r.Asked(ask); n != 1 {
						t.Errorf("got %d requests without a read", n)
					}
					if again := r.lane(t); again == lane {
						t.Fatal("the refused lane was not started again")
					}
					elapse(time.Second)
					for range 100 {
						r.lane(t)
					}
					synctest.Wait()
					if n := r.Asked(ask); ask != testkit.AskWatch && n != 2 {
						t.Errorf("got %d requests, want once more", n)
					}
					r.Script(ask, nil)
					elapse(refusedFor + time.Second)
					r.synced(t)
				})
			})
		}
	}
}

// A refused lane that is replaced leaves no goroutine.
func TestRefusedLanesAreStopped(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script(testkit.AskProbe, testkit.Refuse(http.StatusForbidden, "Forbidden"))
		var last *Reflector
		for range 10 {
			lane := r.lane(t)
			synctest.Wait()
			if last != nil && last.life.Err() == nil {
				t.Fatal("the context of a replaced lane did not end")
			}
			last = lane
			elapse(refusedFor + time.Second)
		}
	})
}

// otherEncoding is JSON with another name.
type otherEncoding struct{ jsonwire.Encoding }

func (otherEncoding) Name() string { return "other" }

// A resource has one lane in each encoding.
func TestLanesOfEncodings(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lanes := map[*Reflector]bool{}
		for _, e := range []wire.Encoding{jsonwire.Encoding{}, otherEncoding{}, jsonwire.Encoding{}, otherEncoding{}} {
			lane, err := r.lanes.Get(r.resource(), e)
			if err != nil {
				t.Fatal(err)
			}
			if lane.Encoding != e {
				t.Errorf("got a lane in %[2]s, want %[1]s", e.Name(), lane.Encoding.Name())
			}
			lane.AwaitSync(t.Context(), time.Minute)
			if got := contents(t, lane); len(got) != 1 {
				t.Errorf("got objects %[2]v in the lane of %[1]s", e.Name(), got)
			}
			lanes[lane] = true
		}
		if all := r.lanes.All(); len(lanes) != 2 || len(all) != 2 || all[0].Encoding.Name() > all[1].Encoding.Name() {
			t.Errorf("got %d lanes, %d of them running", len(lanes), len(all))
		}
	})
}

// A lane that became quiet, without bookmarks, drops the events of its busy time.
func TestQuietLanesAreTrimmed(t *testing.T) {
	inBubble(t, events, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		for range 300 {
			r.Put("ns/a", "1")
		}
		elapse(time.Second)
		busy := lane.Cache.Stats()
		elapse(20 * time.Minute)
		if quiet := lane.Cache.Stats(); quiet.Oldest == busy.Oldest || quiet.HistoryBytes >= busy.HistoryBytes {
			t.Errorf("got a history of %d bytes since %d, want less than before", quiet.HistoryBytes, quiet.Oldest)
		}
	})
}

// A lane ends when another server begins to serve its group version, and none starts afterwards.
func TestExcludedLanesEnd(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		watcher := watchAll(t, lane)
		foreign := func(schema.GroupVersion) bool { return true }
		r.lanes.Exclude(foreign)
		synctest.Wait()
		if watcher.Next(); watcher.Err() == nil {
			t.Error("a watcher did not end")
		}
		if _, err := r.lanes.Get(r.resource(), jsonwire.Encoding{}); !errors.Is(err, ErrAggregated) {
			t.Errorf("got %v, want %v", err, ErrAggregated)
		}
		r.lanes.Exclude(func(schema.GroupVersion) bool { return false })
		if again := r.synced(t); again == lane {
			t.Error("Get returned the ended lane")
		}
		r.stop()
		r.lanes.Exclude(foreign) // its goroutines would outlive the lanes
	})
}
