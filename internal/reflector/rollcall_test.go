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

// A roll call confirms a quiet lane of few objects immediately, without a bookmark.
func TestRollCallConfirmsQuietLane(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		r.Put("ns/b", "1")
		lane := r.synced(t)
		now := cache.RV(r.Elsewhere())
		r.Script(testkit.AskRoll, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(time.Millisecond)
			r.Truth(w, request)
		})
		began, before := time.Now(), r.Asked(testkit.AskProbe)
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() {
				if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || state.RV() != now {
					t.Errorf("Recent: got %v", err)
				}
			})
		}
		wait.Wait()
		if took := time.Since(began); took > grace {
			t.Errorf("took %s", took)
		}
		if n := r.Asked(testkit.AskRoll); n > 3 {
			t.Errorf("got %d roll calls", n)
		}
		if n := r.Asked(testkit.AskProgressWatch) + r.Asked(testkit.AskProbe) - before; n != 0 {
			t.Errorf("got %d other requests", n)
		}
		if err := lane.Reach(t.Context(), now, smallAnswer); err != nil {
			t.Errorf("Reach of the returned version: got %v", err)
		}
		if at, _ := lane.Cache.Position(); at >= now {
			t.Errorf("got position %d", at)
		}
	})
}

// If the lane lacks an object of the upstream, its watch delivers it within a moment, or Recent returns ErrUnproven.
func TestRollCallThatDiffersIsUnproven(t *testing.T) {
	for name, change := range map[string]func(r *rig){
		"another object":         func(r *rig) { r.Put("ns/b", "1") },
		"a newer one":            func(r *rig) { r.Put("ns/a", "2") },
		"one fewer":              func(r *rig) { r.Delete("ns/a") },
		"another under its name": func(r *rig) { r.Delete("ns/a"); r.Put("ns/a", "1") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Put("ns/a", "1")
				lane := r.synced(t)
				release := make(chan struct{})
				r.Script(testkit.AskWatch, func(w http.ResponseWriter, request *http.Request) {
					_ = http.NewResponseController(w).Flush()
					<-release
					r.Truth(w, request)
				})
				r.Script(testkit.AskProgressWatch, text(""))
				r.DropWatches()
				synctest.Wait()
				change(r)
				if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); !errors.Is(err, fresh.ErrUnproven) {
					t.Errorf("got %v, %v, want ErrUnproven", state, err)
				}
				close(release)
				elapse(time.Minute) // the watch is resumed after a pause
				if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || uint64(state.RV()) != r.RV() {
					t.Errorf("after all events: got %v, want a fresh State", err)
				}
			})
		})
	}
}

func TestRollCallWaitsForEvents(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		r.Script(testkit.AskRoll, func(w http.ResponseWriter, _ *http.Request) {
			time.AfterFunc(grace/2, func() { r.Put("ns/b", "1") })
			_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"4"},"items":[{"metadata":{"namespace":"ns","name":"b","resourceVersion":"3"}},` +
				`{"metadata":{"namespace":"ns","name":"a","resourceVersion":"2"}}]}`))
		})
		state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless())
		if err != nil || state.RV() != 4 || state.Len() != 2 {
			t.Errorf("Recent: got %v", err)
		}
		if diff := cmp.Diff([]string{"ns/a@2", "ns/b@3"}, contents(t, lane)); diff != "" {
			t.Error(diff)
		}
	})
}

// No roll call is made for a lane of many objects, nor for a single reader whose answer is cheaper.
func TestRollCallIsOnlyForSmallLanes(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		if _, _, err := lane.Recent(t.Context(), time.Now(), oneObject); !errors.Is(err, fresh.ErrUnproven) {
			t.Errorf("single reader: got %v, want ErrUnproven", err)
		}
		if n := r.Asked(testkit.AskRoll); n != 0 {
			t.Errorf("got %d roll calls", n)
		}
	})
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		for i := range rollCallObjects + 1 {
			r.Put(fmt.Sprintf("ns/%d", i), "1")
		}
		lane := r.synced(t)
		elapse(time.Second)
		if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil {
			t.Error(err)
		}
		if n := r.Asked(testkit.AskRoll); n != 0 {
			t.Errorf("got %d roll calls", n)
		}
	})
}

// An upstream that was restored below a vouched version, but not below the lane's own, has lost a version that clients
// have. A client that watches from there would miss events, so the lane is listed again.
func TestSetBackBelowARollCall(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		for range 10 {
			r.Elsewhere()
		}
		shown, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless())
		if err != nil || uint64(shown.RV()) != r.RV() {
			t.Fatalf("got %v, %v from Recent", shown, err)
		}
		watcher, err := lane.Cache.Watch(cache.WatchOptions{
			Predicate: lane.Kind().Predicate("", nil, nil), Start: cache.AfterRV(shown.RV()),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer watcher.Close()
		r.Restore(uint64(shown.RV()) - 5)
		r.DropWatches()
		elapse(time.Minute)
		r.Put("ns/b", "1") // at a version that readers have seen
		elapse(time.Minute)
		if event, ok := watcher.Next(); ok || watcher.Err() == nil {
			t.Errorf("watch from the lost version: got %v, %t, want its end", event, ok)
		}
		if r.relisted.Load() != 1 {
			t.Errorf("the lane was got %d relists", r.relisted.Load())
		}
	})
}

// A list that was requested before a roll call is older than the version that the roll call confirms. It must not take
// readers back.
func TestRollCallDuringARelist(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		release := make(chan struct{})
		r.Script(testkit.AskStreaming, func(w http.ResponseWriter, _ *http.Request) {
			rv := r.RV()
			_ = http.NewResponseController(w).Flush()
			<-release
			_, _ = w.Write([]byte(r.FrameText("ADDED", r.ObjectText("ns/a", 2, "1"), 2, testkit.DefaultColumns) +
				r.FrameText("BOOKMARK", fmt.Sprintf(
					`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}`, rv),
					rv, "null")))
		})
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.Script(testkit.AskProgressWatch, text(""))
		r.DropWatches()
		until(t, 10*time.Millisecond, "the lane is listed again", func() bool { return r.Asked(testkit.AskStreaming) > 1 })
		r.Elsewhere()
		shown := cache.RV(0)
		if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err == nil {
			shown = state.RV()
		}
		r.Script(testkit.AskWatch, nil)
		close(release)
		elapse(time.Second)
		if r.relisted.Load() == 0 {
			t.Fatal("got no relist")
		}
		if now := stateOf(t, lane).RV(); now < shown {
			t.Errorf("got version %d, and then %d", shown, now)
		}
		if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || uint64(state.RV()) != r.RV() {
			t.Errorf("after the relist: got %v, want a fresh State", err)
		}
	})
}

// No second roll call is made of objects with very large metadata.
func TestRollCallOfEnormousMetadata(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		r.Script(testkit.AskRoll, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, rollCallLimit+1))
		})
		for range 3 {
			r.Elsewhere()
			if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil {
				t.Error(err)
			}
		}
		if n := r.Asked(testkit.AskRoll); n != 1 {
			t.Errorf("got %d roll calls", n)
		}
	})
}

// A roll call confirms a lane whose changes stopped a moment ago. No progress watch is opened.
func TestRollCallBehindABurst(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		for i := range 50 {
			r.Put("ns/a", fmt.Sprint(i))
			elapse(time.Millisecond)
		}
		now := cache.RV(r.Elsewhere())
		if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || state.RV() != now {
			t.Errorf("Recent: got %v", err)
		}
		if n := r.Asked(testkit.AskProgressWatch); n != 0 {
			t.Errorf("got %d progress watches", n)
		}
	})
}

// After a failed roll call, readers do not wait for another one for a while. Later it is tried again.
func TestFailedRollCallPauses(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"silence": func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() },
		"busy":    testkit.Refuse(http.StatusTooManyRequests, "TooManyRequests"),
		"pages":   text(`{"metadata":{"resourceVersion":"9","continue":"more"},"items":[]}`),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Put("ns/a", "1")
				lane := r.synced(t)
				r.Script(testkit.AskRoll, answer)
				for range 3 {
					r.Elsewhere()
					if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil {
						t.Error(err)
					}
				}
				if n := r.Asked(testkit.AskRoll); n != 1 {
					t.Errorf("got %d roll calls", n)
				}
				r.Script(testkit.AskRoll, nil)
				elapse(rollCallPause)
				r.Elsewhere()
				before := r.Asked(testkit.AskProgressWatch)
				if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || r.Asked(testkit.AskProgressWatch) != before {
					t.Errorf("after the pause: got %v, want a roll call", err)
				}
			})
		})
	}
}

// Other objects at the lane's own version, for example after a restored backup was written to, make the lane list
// again.
func TestContradictingRollCallRelists(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		at := stateOf(t, lane).RV()
		r.Script(testkit.AskRoll, text(fmt.Sprintf(
			`{"metadata":{"resourceVersion":"%d"},"items":[{"metadata":{"namespace":"ns","name":"b","resourceVersion":"%d"}}]}`, at, at)))
		if state, _, err := lane.Recent(t.Context(), time.Now(), smallAnswer); !errors.Is(err, fresh.ErrUnproven) {
			t.Errorf("got %v, want ErrUnproven", state)
		}
		r.Script(testkit.AskRoll, nil)
		elapse(time.Minute)
		if r.contradicted.Load() != 1 || r.relisted.Load() != 1 {
			t.Errorf("got %d contradictions, got %d relists", r.contradicted.Load(), r.relisted.Load())
		}
		if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil {
			t.Errorf("after the relist: got %v, want a fresh State", err)
		}
	})
}

// A second roll call is sent before the lane is listed again because of the first one, and answered during the list. It
// does not make the lane list once more.
func TestLateContradictionDoesNotRelistAgain(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		at, answers, listed := stateOf(t, lane).RV(), make(chan struct{}), make(chan struct{})
		r.Script(testkit.AskRoll, func(w http.ResponseWriter, _ *http.Request) {
			<-answers
			_, _ = fmt.Fprintf(w, `{"metadata":{"resourceVersion":"%d"},"items":[]}`, at)
		})
		r.Script(testkit.AskStreaming, func(w http.ResponseWriter, request *http.Request) { <-listed; r.Truth(w, request) })
		lists := r.Asked(testkit.AskStreaming)
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				if _, _, err := lane.Recent(t.Context(), time.Now(), smallAnswer); !errors.Is(err, fresh.ErrContradicted) {
					t.Errorf("got %v, want ErrContradicted", err)
				}
			})
			synctest.Wait()
		}
		answers <- struct{}{}
		until(t, 10*time.Millisecond, "the lane is listed again", func() bool { return r.Asked(testkit.AskStreaming) > lists })
		answers <- struct{}{}
		readers.Wait()
		close(listed)
		elapse(time.Minute)
		if r.Asked(testkit.AskRoll) != 2 || r.contradicted.Load() != 1 || r.relisted.Load() != 1 || lane.Contradicted() {
			t.Errorf("got %d roll calls, %d contradictions and %d relists, want 2, 1 and 1", r.Asked(testkit.AskRoll),
				r.contradicted.Load(), r.relisted.Load())
		}
	})
}
