package reflector

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/testkit"
)

func TestRecentSharesProbes(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.noRollCalls()
		r.Put("ns/a", "1")
		lane := r.synced(t)
		before := r.Asked(testkit.AskProbe)
		r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(10 * time.Millisecond)
			r.Truth(w, request)
		})
		var wait sync.WaitGroup
		for range 1000 {
			wait.Go(func() {
				if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || state.RV() != 2 {
					t.Errorf("Recent: got %v", err)
				}
			})
		}
		wait.Wait()
		if n := r.Asked(testkit.AskProbe) - before; n < 1 || n > 3 {
			t.Errorf("1000 callers cost %d probes", n)
		}
	})
}

// A probe that was sent before a call cannot confirm a State for it: its response may lack writes made in between.
func TestRecentUsesNoEarlierProbe(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.noRollCalls()
		r.Put("ns/a", "1")
		lane := r.synced(t)
		var answered atomic.Int64
		release := make(chan struct{})
		r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
			if answered.Add(1) == 1 { // the first response is old when it arrives
				rv := r.RV()
				<-release
				_, _ = w.Write([]byte(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"` + cache.RV(rv).String() + `"},"items":[]}`))
				return
			}
			r.Truth(w, request)
		})
		first, answers := make(chan cache.RV, 1), make(chan cache.RV, 10)
		ask := func(answers chan<- cache.RV) {
			state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless())
			if err != nil {
				t.Error(err)
				answers <- 0
				return
			}
			answers <- state.RV()
		}
		go ask(first)
		synctest.Wait() // its probe is in flight
		written := r.Put("ns/b", "1")
		synctest.Wait()
		for range 10 {
			go ask(answers)
		}
		synctest.Wait()
		if n := answered.Load(); n != 1 {
			t.Fatalf("%d probes at a time", n)
		}
		close(release)
		if rv := <-first; rv < 2 {
			t.Errorf("the first call got %d", rv)
		}
		for range 10 {
			if rv := <-answers; uint64(rv) < written {
				t.Errorf("a call got %d although %d was written before it", rv, written)
			}
		}
		if n := answered.Load(); n != 2 {
			t.Errorf("ten calls at the same time cost %d probes", n-1)
		}
	})
}

// A quiet lane does not receive other resources' versions. One progress watch brings it up to date for all waiting
// readers.
func TestProgressWatchUpdatesQuietLane(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.noRollCalls()
		r.Put("ns/a", "1")
		lane := r.synced(t)
		now := cache.RV(r.Elsewhere())
		if _, _, err := lane.Recent(t.Context(), time.Now(), smallAnswer); !errors.Is(err, fresh.ErrUnproven) {
			t.Errorf("short wait: got %v", err)
		}
		if n := r.Asked(testkit.AskProgressWatch); n != 0 {
			t.Errorf("short wait: got %d progress watches, want none", n)
		}
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() {
				if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || state.RV() != now {
					t.Errorf("long wait: got %v", err)
				}
			})
			wait.Go(func() {
				if err := lane.Reach(t.Context(), now, fresh.Endless()); err != nil {
					t.Errorf("Reach: got %v", err)
				}
			})
		}
		wait.Wait()
		if stateOf(t, lane).RV() < now {
			t.Errorf("got version %d", stateOf(t, lane).RV())
		}
		if n := r.Asked(testkit.AskProgressWatch); n != 1 {
			t.Errorf("got %d progress watches", n)
		}
		if err := lane.Reach(t.Context(), now+1, fresh.Endless()); !errors.Is(err, fresh.ErrAhead) {
			t.Errorf("Reach above the upstream's version: got %v, want ErrAhead", err)
		}
	})
}

// A progress watch also delivers events that the main watch has not delivered yet. The main watch's duplicates are
// dropped.
func TestProgressWatchOvertakesTheWatch(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.noRollCalls()
		r.Put("ns/a", "1")
		lane := r.synced(t)
		held := make(chan struct{})
		r.Script(testkit.AskWatch, func(w http.ResponseWriter, request *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-held
			r.Truth(w, request)
		})
		r.DropWatches()
		synctest.Wait()
		r.Put("ns/b", "1")
		r.Delete("ns/a")
		if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, lane); len(got) != 1 || got[0] != "ns/b@3" {
			t.Errorf("got objects %v", got)
		}
		close(held)
		r.Put("ns/c", "1")
		synctest.Wait()
		if got := contents(t, lane); len(got) != 2 {
			t.Errorf("got objects %v", got)
		}
	})
}

// If no check can succeed, Recent returns ErrUnproven within a bounded time.
func TestRecentIsUnprovenWithoutBookmark(t *testing.T) {
	noAnswer := func(w http.ResponseWriter, request *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-request.Context().Done()
	}
	for name, answer := range map[string]http.HandlerFunc{
		"no bookmark":      text(""),
		"silence":          noAnswer,
		"refused":          testkit.Refuse(http.StatusForbidden, "Forbidden"),
		"expired":          testkit.Refuse(http.StatusGone, "Expired"),
		"garbage":          text("garbage\n"),
		"an old bookmark":  nil,
		"another one's":    text(`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}}` + "\n"),
		"an endless frame": func(w http.ResponseWriter, request *http.Request) { _, _ = w.Write([]byte("{")); noAnswer(w, request) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.noRollCalls()
				r.Put("ns/a", "1")
				lane := r.synced(t)
				if answer == nil { // from a kube-apiserver that is behind
					answer = text(r.FrameText("BOOKMARK", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"3"}}`, 3, "null"))
				}
				r.Script(testkit.AskProgressWatch, answer)
				r.Elsewhere()
				r.Elsewhere()
				r.Elsewhere()
				began := time.Now()
				if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); !errors.Is(err, fresh.ErrUnproven) {
					t.Errorf("got %v, want ErrUnproven", err)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("took %s", took)
				}
				if lane.StaleFor() != 0 || lane.Failure() != nil {
					t.Error("the progress watch damaged the lane")
				}
			})
		})
	}
}

// A failed probe fails the calls that wait for it, and no later ones.
func TestProbeFails(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.noRollCalls()
		lane := r.synced(t)
		for name, answer := range map[string]http.HandlerFunc{
			"refused": testkit.Refuse(http.StatusServiceUnavailable, "ServiceUnavailable"), "HTML": text("<html>"),
			"silence":            func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() },
			"no resourceVersion": text(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[]}`),
		} {
			r.Script(testkit.AskProbe, answer)
			var wait sync.WaitGroup
			for range 10 {
				wait.Go(func() {
					if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err == nil {
						t.Errorf("%s: got a fresh State, want an error", name)
					}
				})
			}
			wait.Wait()
			r.Script(testkit.AskProbe, nil)
			if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil {
				t.Errorf("after %s: %v", name, err)
			}
		}
	})
}

// A caller that leaves does not cancel the probe of the others.
func TestLeavingCallerDoesNotCancelProbe(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.noRollCalls()
		lane := r.synced(t)
		release := make(chan struct{})
		r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
			<-release
			r.Truth(w, request)
		})
		ctx, leave := context.WithCancel(t.Context())
		left, stayed := make(chan error, 1), make(chan error, 1)
		go func() { _, _, err := lane.Recent(ctx, time.Now(), fresh.Endless()); left <- err }()
		go func() { _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); stayed <- err }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("caller that left: got %v", err)
		}
		close(release)
		if err := <-stayed; err != nil {
			t.Errorf("caller that stayed: got %v", err)
		}
	})
}

// A resource without bookmarks gets no progress watch, because it would show nothing.
func TestEventsGetNoProgressWatch(t *testing.T) {
	inBubble(t, events, func(t *testing.T, r *rig) {
		r.noRollCalls()
		lane := r.synced(t)
		r.Elsewhere()
		if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); !errors.Is(err, fresh.ErrUnproven) {
			t.Errorf("got %v, want ErrUnproven", err)
		}
		if n := r.Asked(testkit.AskProgressWatch); n != 0 {
			t.Errorf("got %d progress watches", n)
		}
	})
}

// The list that fills a lane is requested after the read that started the lane. So that read needs no other check, but
// later reads do.
func TestReadThatStartedLaneNeedsNoProbe(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.noRollCalls()
		rv := r.Put("ns/a", "1")
		arrived := time.Now()
		elapse(time.Millisecond)
		lane := r.synced(t)
		before := r.Asked(testkit.AskProbe)
		for range 2 {
			if state, _, err := lane.Recent(t.Context(), arrived, fresh.Endless()); err != nil || uint64(state.RV()) != rv {
				t.Errorf("Recent: got %v", err)
			}
		}
		if n := r.Asked(testkit.AskProbe) - before; n != 0 {
			t.Errorf("%d probes", n)
		}
		elapse(time.Millisecond)
		if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil {
			t.Error(err)
		}
		if n := r.Asked(testkit.AskProbe) - before; n != 1 {
			t.Errorf("got %d probes for a later read, want 1", n)
		}
	})
}

// When a lease ends, several events are deleted at one version (semantics 4.4). A lane that received the first deletion
// has the probe's version, but still contains the other events. A client that then lists it and watches from the list's
// version receives all deletions.
func TestDeletionsAtOneVersionAreAllSent(t *testing.T) {
	for _, how := range []string{"probe", "roll call"} {
		t.Run(how, func(t *testing.T) {
			inBubble(t, events, func(t *testing.T, r *rig) {
				if how == "probe" {
					r.noRollCalls()
				}
				r.Put("ns/a", "1")
				r.Put("ns/b", "1")
				lane := r.synced(t)
				gone := r.RV() + 1
				second := make(chan struct{})
				frame := func(key string) string { return r.FrameText("DELETED", r.ObjectText(key, gone, "last"), gone, "null") }
				r.Script(testkit.AskWatch, func(w http.ResponseWriter, request *http.Request) {
					_, _ = w.Write([]byte(frame("ns/a")))
					_ = http.NewResponseController(w).Flush()
					<-second
					_, _ = w.Write([]byte(frame("ns/b")))
					_ = http.NewResponseController(w).Flush()
					<-request.Context().Done()
				})
				r.DropWatches()
				r.Restore(gone) // how the fake deletes all objects of a version
				until(t, time.Millisecond, "the lane is at the deletions", func() bool {
					at, _ := lane.Cache.Position()
					return uint64(at) >= gone
				})
				listed := stateOf(t, lane)
				if listed.Len() != 2 || uint64(listed.RV()) != gone-1 {
					t.Errorf("got %d objects at %d, want one fewer after the deletion at %d", listed.Len(), listed.RV(), gone)
				}
				if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); !errors.Is(err, fresh.ErrUnproven) {
					t.Errorf("got fresh with %d objects: %v", state.Len(), err)
				}
				close(second)
				elapse(time.Millisecond)
				watcher, err := lane.Cache.Watch(cache.WatchOptions{Predicate: lane.Kind().Predicate("", nil, nil), Start: cache.AfterRV(listed.RV())})
				if err != nil {
					t.Fatal(err)
				}
				defer watcher.Close()
				for _, key := range []string{"ns/a", "ns/b"} {
					if e, ok := watcher.Next(); !ok || e.Type != cache.Deleted || e.Object.Key() != key {
						t.Errorf("watch from the list: got %v, want the deletion of %s", e, key)
					}
				}
				state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless())
				if how == "roll call" && (err != nil || state.Len() != 0 || uint64(state.RV()) != gone) {
					t.Errorf("after all deletions: got %v, want a fresh State", err)
				}
			})
		})
	}
}

// Progress watches continue for a while after one was wanted, so that the next reader finds one that ends soon. Then
// they stop.
func TestProgressWatchesContinueForAWhile(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.noRollCalls()
		lane := r.synced(t)
		r.Elsewhere()
		if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil {
			t.Fatal(err)
		}
		elapse(progressWatchesFor + 5*time.Second)
		opened := r.Asked(testkit.AskProgressWatch)
		if rounds := int(progressWatchesFor / progressWatchEvery); opened < rounds || opened > rounds+1 {
			t.Errorf("got %d progress watches", opened)
		}
		elapse(time.Hour)
		if n := r.Asked(testkit.AskProgressWatch); n != opened {
			t.Errorf("got %d more progress watches, want none", n-opened)
		}
	})
}

// While the lane is listed again, its State and its listWatch are of two epochs. A progress watch would write events of
// one epoch into the other.
func TestNoProgressWatchBetweenEpochs(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.noRollCalls()
		r.Put("ns/a", "1")
		lane := r.synced(t)
		for range 30 {
			r.Elsewhere()
		}
		release := make(chan struct{})
		r.Script(testkit.AskStreaming, func(w http.ResponseWriter, request *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-release
			r.Truth(w, request)
		})
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.DropWatches()
		until(t, 10*time.Millisecond, "the lane is listed again", func() bool { return r.Asked(testkit.AskStreaming) > 1 })
		proving := make(chan error, 1)
		go func() {
			_, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless())
			proving <- err
		}()
		elapse(time.Second)
		if n := r.Asked(testkit.AskProgressWatch); n != 0 {
			t.Errorf("got %d progress watches", n)
		}
		r.Script(testkit.AskWatch, nil)
		close(release)
		if err := <-proving; err != nil && !errors.Is(err, fresh.ErrUnproven) {
			t.Error(err)
		}
	})
}
