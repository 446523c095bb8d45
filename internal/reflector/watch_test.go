package reflector

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// frames returns a handler that sends these frames on a watch and ends it cleanly.
func frames(all ...string) http.HandlerFunc { return text(strings.Join(all, "")) }

func TestWatchResumes(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		elapse(2 * time.Minute)
		r.DropWatches()
		r.Put("ns/b", "1") // while no watch is open
		synctest.Wait()
		if diff := cmp.Diff([]string{"ns/a@2", "ns/b@3"}, contents(t, lane)); diff != "" {
			t.Error(diff)
		}
		resumed := r.Requests(testkit.AskWatch)
		if len(resumed) != 1 || resumed[0].URL.Query().Get("resourceVersion") != "2" {
			t.Errorf("got %d watches, want one from the lane's resourceVersion", len(resumed))
		}
		if r.reconnected.Load() != 1 || r.relisted.Load() != 0 {
			t.Errorf("got %d reconnects and %d relists", r.reconnected.Load(), r.relisted.Load())
		}
	})
}

// When a lease ends, many events are deleted at one resourceVersion, and a stream may break off between them.
func TestWatchOfEventsResumesAmongEqualVersions(t *testing.T) {
	inBubble(t, events, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		r.Put("ns/b", "1")
		lane := r.synced(t)
		deleted := func(key string) string {
			return r.FrameText("DELETED", r.ObjectText(key, 4, "last"), 4, "null")
		}
		r.Elsewhere()
		r.Script(testkit.AskWatch, frames(r.FrameText("DELETED", r.ObjectText("ns/a", 4, "last"), 4, testkit.DefaultColumns)))
		r.DropWatches()
		elapse(time.Second)
		r.Script(testkit.AskWatch, frames(r.FrameText("DELETED", r.ObjectText("ns/a", 4, "last"), 4, testkit.DefaultColumns), deleted("ns/b")))
		elapse(time.Minute)
		all := r.Requests(testkit.AskWatch)
		if at := all[len(all)-1].URL.Query().Get("resourceVersion"); at != "3" {
			t.Errorf("got a watch from %s, which skips other deletions at 4", at)
		}
		r.Script(testkit.AskWatch, r.Truth)
		r.Put("ns/c", "1") // readers see the next version after all deletions
		elapse(time.Minute)
		if diff := cmp.Diff([]string{"ns/c@5"}, contents(t, lane)); diff != "" {
			t.Error(diff)
		}
	})
}

// At a compacted version kube-apiserver still sends the event, but not the object before it, so its watch fails. A
// complete lane does not request that version again. An incomplete lane is listed again.
func TestWatchOfEventsFromACompaction(t *testing.T) {
	inBubble(t, events, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		r.Put("ns/b", "1")
		lane := r.synced(t)
		r.DropWatches()
		elapse(time.Second)
		all := r.Requests(testkit.AskWatch)
		if at := all[len(all)-1].URL.Query().Get("resourceVersion"); at != "3" {
			t.Errorf("got a watch from %s after a list at 3", at)
		}
		r.Delete("ns/a") // other objects may be deleted at the same version
		elapse(time.Second)
		r.Script(testkit.AskWatch, func(w http.ResponseWriter, request *http.Request) {
			if request.URL.Query().Get("resourceVersion") == "3" {
				text(fmt.Sprintf(`{"type":"ERROR","object":%s}`+"\n", testkit.StatusText(http.StatusInternalServerError, "InternalError")))(w, request)
				return
			}
			r.Truth(w, request)
		})
		r.DropWatches()
		elapse(time.Second)
		r.Put("ns/c", "1")
		elapse(time.Second)
		if diff := cmp.Diff([]string{"ns/b@3", "ns/c@5"}, contents(t, lane)); diff != "" {
			t.Error(diff)
		}
		if r.relisted.Load() != 1 {
			t.Errorf("got %d relists", r.relisted.Load())
		}
	})
}

// The first event after the lane's version may be such an event. Then the lane is listed again. For a resource in
// kube-apiserver's cache, the same failure has another cause, and the watch is retried.
func TestFailingWatchOfEventsRelists(t *testing.T) {
	for _, c := range []struct {
		kind   testkit.FakeKind
		listed int64
	}{{events, 1}, {configMaps, 0}} {
		inBubble(t, c.kind, func(t *testing.T, r *rig) {
			r.Put("ns/a", "1")
			lane := r.synced(t)
			failure := text(fmt.Sprintf(`{"type":"ERROR","object":%s}`+"\n", testkit.StatusText(http.StatusInternalServerError, "InternalError")))
			failed := false
			r.Script(testkit.AskWatch, func(w http.ResponseWriter, request *http.Request) {
				if !failed {
					failed = true
					failure(w, request)
					return
				}
				r.Truth(w, request)
			})
			r.DropWatches()
			r.Put("ns/b", "1")
			elapse(time.Minute)
			if diff := cmp.Diff([]string{"ns/a@2", "ns/b@3"}, contents(t, lane)); diff != "" {
				t.Error(diff)
			}
			if !failed || r.relisted.Load() != c.listed {
				t.Errorf("%s: got %d relists", c.kind.Kind, r.relisted.Load())
			}
		})
	}
}

// The upstream no longer has the events after the lane's resourceVersion. It says so in the response or in an open
// stream.
func TestLostEventsRelist(t *testing.T) {
	expired := fmt.Sprintf(`{"type":"ERROR","object":%s}`+"\n", testkit.StatusText(http.StatusGone, "Expired"))
	for name, lost := range map[string]http.HandlerFunc{
		"answer": testkit.Refuse(http.StatusGone, "Expired"),
		"frame":  text(expired),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Put("ns/a", "1")
				lane := r.synced(t)
				watcher, err := lane.Cache.Watch(cache.WatchOptions{Predicate: lane.Kind().Predicate("", nil, nil), Start: cache.FromNow()})
				if err != nil {
					t.Fatal(err)
				}
				defer watcher.Close()
				r.Script(testkit.AskWatch, lost)
				r.DropWatches()
				r.Put("ns/b", "1")
				elapse(time.Second)
				if diff := cmp.Diff([]string{"ns/a@2", "ns/b@3"}, contents(t, lane)); diff != "" {
					t.Error(diff)
				}
				if r.Asked(testkit.AskStreaming) != 2 || r.relisted.Load() != 1 {
					t.Errorf("got %d lists and %d relists", r.Asked(testkit.AskStreaming), r.relisted.Load())
				}
				watcher.Next()
				if expired := (*cache.ExpiredError)(nil); !errors.As(watcher.Err(), &expired) {
					t.Errorf("got error %v for the watcher of the last epoch", watcher.Err())
				}
			})
		})
	}
}

// Each invalid frame is a logged error that is retried at growing intervals, and leaves the State unchanged.
func TestInvalidFrameIsRetried(t *testing.T) {
	f := &testkit.FakeUpstream{FakeKind: configMaps}
	object := func(kind, key string, rv uint64, data string) string {
		return f.FrameText(kind, f.ObjectText(key, rv, data), rv, "null")
	}
	good := object("MODIFIED", "ns/a", 3, "2")
	for name, c := range map[string]struct {
		frames []string
		want   []string
		error  string
	}{
		"truncated frame":           {[]string{good, good[:40]}, []string{"ns/a@3"}, io.ErrUnexpectedEOF.Error()},
		"frame without end":         {[]string{strings.TrimSpace(object("MODIFIED", "ns/a", 3, "2"))}, []string{"ns/a@2"}, io.ErrUnexpectedEOF.Error()},
		"garbage":                   {[]string{good, "\x00\x01\x02 nonsense\n"}, []string{"ns/a@3"}, "read a watch frame: "},
		"HTML":                      {[]string{"<html>\n<body>please log in</body>\n</html>\n"}, []string{"ns/a@2"}, "read a watch frame: "},
		"a JSON array":              {[]string{"[1,2]\n"}, []string{"ns/a@2"}, "read a watch frame: "},
		"frame without an end":      {[]string{`{"type":"MODIFIED","object":{}` + "\n"}, []string{"ns/a@2"}, "read a watch frame: "},
		"no object":                 {[]string{`{"type":"MODIFIED"}` + "\n"}, []string{"ns/a@2"}, "read a watch frame: "},
		"unknown type":              {[]string{object("REPLACED", "ns/a", 3, "2")}, []string{"ns/a@2"}, `unknown event type "REPLACED"`},
		"wrong scope":               {[]string{good, object("ADDED", "cluster-wide", 4, "1")}, []string{"ns/a@3"}, "has no name or a wrong scope"},
		"resourceVersion back":      {[]string{object("ADDED", "ns/b", 9, "1"), object("ADDED", "ns/c", 4, "1")}, []string{"ns/a@2", "ns/b@9"}, "decreased from 9 to 4"},
		"bookmark back":             {[]string{object("ADDED", "ns/b", 9, "1"), object("BOOKMARK", "ns/c", 4, "1")}, []string{"ns/a@2", "ns/b@9"}, "decreased from 9 to 4"},
		"resourceVersion absent":    {[]string{`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"ns"}}}` + "\n"}, []string{"ns/a@2"}, "resourceVersion"},
		"resourceVersion no number": {[]string{strings.ReplaceAll(good, `"3"`, `"three"`)}, []string{"ns/a@2"}, "invalid syntax"},
		"ERROR without a Status":    {[]string{`{"type":"ERROR","object":{}}` + "\n"}, []string{"ns/a@2"}, "answered 500"},
		"a complete list":           {[]string{`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}` + "\n"}, []string{"ns/a@2"}, "read a watch frame: "},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Put("ns/a", "1")
				lane := r.synced(t)
				r.Script(testkit.AskWatch, frames(c.frames...))
				for range 10 {
					r.Elsewhere() // raises the upstream's version above those of the frames
				}
				r.DropWatches()
				elapse(5 * time.Minute)
				if diff := cmp.Diff(c.want, contents(t, lane)); diff != "" {
					t.Error(diff)
				}
				if !r.logged(c.error) {
					t.Errorf("got no log entry with %q: %v", c.error, r.logs.All())
				}
				if n := r.Asked(testkit.AskWatch); n < 5 || n > 30 {
					t.Errorf("got %d attempts in five minutes", n)
				}
				if lane.StaleFor() < 4*time.Minute {
					t.Errorf("got StaleFor %s", lane.StaleFor())
				}
				r.Script(testkit.AskWatch, nil)
				r.Put("ns/z", "1")
				elapse(2 * time.Minute)
				if _, ok := stateOf(t, lane).Get("ns/z"); !ok || lane.StaleFor() != 0 {
					t.Error("the lane did not recover")
				}
			})
		})
	}
}

// A repeated event is no error: a watch may be resumed from an earlier version than the lane's.
func TestRepeatedEventIsDropped(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		again := r.FrameText("MODIFIED", r.ObjectText("ns/a", 3, "2"), 3, "null")
		r.Elsewhere()
		r.Elsewhere()
		r.Script(testkit.AskWatch, func(w http.ResponseWriter, request *http.Request) {
			frames(again, again, r.FrameText("ADDED", r.ObjectText("ns/b", 4, "1"), 4, "null"))(w, request)
			_ = http.NewResponseController(w).Flush()
			<-request.Context().Done()
		})
		r.DropWatches()
		elapse(time.Second)
		if diff := cmp.Diff([]string{"ns/a@3", "ns/b@4"}, contents(t, lane)); diff != "" {
			t.Error(diff)
		}
		if r.Asked(testkit.AskWatch) != 1 {
			t.Error("got a closed watch, want an open one")
		}
	})
}

// An upstream that ends every watch immediately must not be requested in a busy loop.
func TestShortWatchesAreSpaced(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		r.Script(testkit.AskWatch, text(""))
		r.DropWatches()
		elapse(10 * time.Minute)
		if n := r.Asked(testkit.AskWatch); n < 10 || n > 40 {
			t.Errorf("got %d requests in ten minutes", n)
		}
		if got := contents(t, lane); len(got) != 1 {
			t.Errorf("got objects %v", got)
		}
	})
}

func TestFrameOverTheLimit(t *testing.T) {
	body := io.MultiReader(strings.NewReader(`{"type":"ADDED","object":{"kind":"`), strings.NewReader(strings.Repeat("x", 1<<20)))
	s := &stream{listWatch: &listWatch{}, frames: wire.Lines{}.Reader(body, 1<<16)}
	if _, err := s.next(); err == nil || err.Error() != "watch frame exceeds 65536 bytes" {
		t.Errorf("got error %v", err)
	}
}

// An endless frame is limited in memory and in time.
func TestEndlessFrameIsLimited(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 65 MB")
	}
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		piece := []byte(strings.Repeat("x", 1<<20))
		r.Script(testkit.AskWatch, func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		})
		r.DropWatches()
		testkit.Eventually(t, "the frame is given up", func() error {
			if !r.logged("exceeds") {
				return fmt.Errorf("logged %v", r.logs.All())
			}
			return nil
		})
		r.Script(testkit.AskWatch, nil)
		if got := contents(t, lane); len(got) != 1 {
			t.Errorf("got objects %v", got)
		}
	})
}

// The writer respects the Retry-After of 429 and 503.
func TestRetryAfter(t *testing.T) {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		for _, ask := range []testkit.Ask{testkit.AskProbe, testkit.AskStreaming, testkit.AskWatch} {
			t.Run(fmt.Sprint(code, " ", ask), func(t *testing.T) {
				inBubble(t, configMaps, func(t *testing.T, r *rig) {
					busy := func(w http.ResponseWriter, request *http.Request) {
						w.Header().Set("Retry-After", "20")
						testkit.Refuse(code, "TooManyRequests")(w, request)
					}
					if ask == testkit.AskWatch {
						r.synced(t)
						r.Script(ask, busy)
						r.DropWatches()
					} else {
						r.Script(ask, busy)
						r.lane(t)
					}
					elapse(18 * time.Second)
					if n := r.Asked(ask); n != 1 {
						t.Errorf("got %d requests during Retry-After", n)
					}
					r.Script(ask, nil)
					elapse(time.Minute)
					if lane := r.lane(t); lane.StaleFor() != 0 {
						t.Error("the lane did not recover")
					}
				})
			})
		}
	}
	// Retry-After is limited to half a minute.
	for header, want := range map[string]time.Duration{"": 0, "5": 5 * time.Second, "86400": maxRetryAfter, "-1": 0, "Tue, 29 Oct 2030 16:56:32 GMT": 0} {
		err := fmt.Errorf("wrapped: %w", &upstream.StatusError{Header: http.Header{"Retry-After": {header}}})
		if got := retryAfter(err); got != want {
			t.Errorf("Retry-After %q: got %s, want %s", header, got, want)
		}
	}
}

// An upstream that fails for a moment now and then is followed again within a moment each time. The same is true if it
// loses the lane's events each time.
func TestShortFailuresKeepPausesShort(t *testing.T) {
	for name, expired := range map[string]bool{"resumed": false, "listed again": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				lane := r.synced(t)
				for i := range 20 {
					r.SetOffline(true)
					elapse(3 * time.Second)
					if expired {
						r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
					}
					r.SetOffline(false)
					rv := r.Put("ns/a", fmt.Sprint(i))
					elapse(15 * time.Second)
					if diff := cmp.Diff([]string{fmt.Sprintf("ns/a@%d", rv)}, contents(t, lane)); diff != "" {
						t.Fatalf("failure %d, 15 seconds after the upstream was back:\n%s", i+1, diff)
					}
				}
			})
		})
	}
}

func TestBackoff(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBackoff(func() time.Duration { return 0 })
		for floor := 100 * time.Millisecond; floor < 30*time.Second; floor *= 2 {
			began := time.Now()
			b.sleep(t.Context(), 0)
			if took := time.Since(began); took < floor || took > 2*floor {
				t.Errorf("got a pause of %s, want %s to %s", took, floor, 2*floor)
			}
		}
		for range 5 {
			began := time.Now()
			b.sleep(t.Context(), 0)
			if took := time.Since(began); took < 25*time.Second || took > time.Minute {
				t.Errorf("got a pause of %s at the end", took)
			}
		}
		elapse(time.Hour) // a hanging attempt
		b.noteUptime(settled)
		began := time.Now()
		b.sleep(t.Context(), 0)
		if took := time.Since(began); took < 25*time.Second {
			t.Errorf("got a pause of %s after a stream that broke off immediately", took)
		}
		b.noteUptime(10 * time.Second)
		began = time.Now()
		b.sleep(t.Context(), 0)
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("got a pause of %s after ten seconds in which all was well", took)
		}
	})
}

// TestPausesEndWithOutage checks that long pauses of a long outage end when the outage does.
func TestPausesEndWithOutage(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		for range 5 {
			r.SetOffline(true)
			r.DropWatches()
			elapse(10 * time.Minute)
			r.SetOffline(false)
			rv := r.Put("ns/a", "2")
			elapse(outageEvery + outageLook + outageSpread + time.Second)
			if at := stateOf(t, lane).RV(); lane.StaleFor() > 0 || uint64(at) < uint64(rv) {
				t.Fatalf("got the lane at %d and the upstream at %d, stale for %s", at, rv, lane.StaleFor())
			}
		}
	})
}
