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

// A lane of few objects need not wait for a bookmark, however quiet it is: the upstream tells at once that nothing
// changed.
func TestRollCall(t *testing.T) {
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
					t.Errorf("recent: %v", err)
				}
			})
		}
		wait.Wait()
		if took := time.Since(began); took > grace {
			t.Errorf("it took %s", took)
		}
		if n := r.Asked(testkit.AskRoll); n > 3 {
			t.Errorf("%d roll calls", n)
		}
		if n := r.Asked(testkit.AskProgressWatch) + r.Asked(testkit.AskProbe) - before; n != 0 {
			t.Errorf("%d other questions", n)
		}
		if err := lane.Reach(t.Context(), now, smallAnswer); err != nil {
			t.Errorf("what was shown cannot be reached: %v", err)
		}
		if at, _ := lane.Cache.Position(); at >= now {
			t.Errorf("the lane counts as written up to %d", at)
		}
	})
}

// The lane lacks what the upstream has: its watch brings it in a moment, or nothing is claimed.
func TestRollCallOfOtherObjects(t *testing.T) {
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
					t.Errorf("proven: %v, %v", state, err)
				}
				close(release)
				elapse(time.Minute) // the watch is opened again after a pause
				if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || uint64(state.RV()) != r.RV() {
					t.Errorf("not proven when all is there: %v", err)
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
			t.Errorf("recent: %v", err)
		}
		if diff := cmp.Diff([]string{"ns/a@2", "ns/b@3"}, contents(t, lane)); diff != "" {
			t.Error(diff)
		}
	})
}

// A lane of many objects is not called over, and neither is one alone who can have the answer itself.
func TestNoRollCall(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		if _, _, err := lane.Recent(t.Context(), time.Now(), oneObject); !errors.Is(err, fresh.ErrUnproven) {
			t.Errorf("alone, with none to share with: %v", err)
		}
		if n := r.Asked(testkit.AskRoll); n != 0 {
			t.Errorf("%d roll calls", n)
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
			t.Errorf("%d roll calls", n)
		}
	})
}

// An upstream that is set back below what was shown, though not below what was written, has lost a version that clients
// know: who watches from there would miss what the versions in between mean now.
func TestSetBackBelowARollCall(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		for range 10 {
			r.Elsewhere()
		}
		shown, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless())
		if err != nil || uint64(shown.RV()) != r.RV() {
			t.Fatalf("shown is %v, %v", shown, err)
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
		r.Put("ns/b", "1") // at a version that was shown
		elapse(time.Minute)
		if event, ok := watcher.Next(); ok || watcher.Err() == nil {
			t.Errorf("who watches from the lost version is told %v, %t, and no end", event, ok)
		}
		if r.relisted.Load() != 1 {
			t.Errorf("the lane was listed again %d times", r.relisted.Load())
		}
	})
}

// A list that was asked for before the roll was called is older than what the roll call proves: who was shown that
// would be taken back.
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
			t.Fatal("the lane was not listed again")
		}
		if now := stateOf(t, lane).RV(); now < shown {
			t.Errorf("readers are shown %d, and then %d", shown, now)
		}
		if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || uint64(state.RV()) != r.RV() {
			t.Errorf("not proven when all is over: %v", err)
		}
	})
}

// Objects whose metadata alone is enormous are not called over a second time.
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
			t.Errorf("%d roll calls", n)
		}
	})
}

// A lane that changed all the time until now, and then no more, is not brought up to date by a fence either.
func TestRollCallBehindABurst(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		for i := range 50 {
			r.Put("ns/a", fmt.Sprint(i))
			elapse(time.Millisecond)
		}
		now := cache.RV(r.Elsewhere())
		if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || state.RV() != now {
			t.Errorf("recent: %v", err)
		}
		if n := r.Asked(testkit.AskProgressWatch); n != 0 {
			t.Errorf("%d fences", n)
		}
	})
}

// A roll call that fails, whichever way, is not what every reader waits for from then on; nor is it given up for ever.
func TestRollCallFails(t *testing.T) {
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
					t.Errorf("%d roll calls", n)
				}
				r.Script(testkit.AskRoll, nil)
				elapse(rollCallPause)
				r.Elsewhere()
				before := r.Asked(testkit.AskProgressWatch)
				if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || r.Asked(testkit.AskProgressWatch) != before {
					t.Errorf("not called over again: %v", err)
				}
			})
		})
	}
}

// Other objects at the very version that the lane is at, as after a backup was restored and written to: one of them is
// wrong, and nothing but a new list tells which.
func TestRollCallContradicts(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		at := stateOf(t, lane).RV()
		r.Script(testkit.AskRoll, text(fmt.Sprintf(
			`{"metadata":{"resourceVersion":"%d"},"items":[{"metadata":{"namespace":"ns","name":"b","resourceVersion":"%d"}}]}`, at, at)))
		if state, _, err := lane.Recent(t.Context(), time.Now(), smallAnswer); !errors.Is(err, fresh.ErrUnproven) {
			t.Errorf("proven: %v", state)
		}
		r.Script(testkit.AskRoll, nil)
		elapse(time.Minute)
		if r.contradicted.Load() != 1 || r.relisted.Load() != 1 {
			t.Errorf("counted %d times, listed again %d times", r.contradicted.Load(), r.relisted.Load())
		}
		if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil {
			t.Errorf("after the new list: %v", err)
		}
	})
}
