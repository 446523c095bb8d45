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
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// frames answers a watch with these frames and a clean end.
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
			t.Errorf("resumed %d times, not once at the lane's resourceVersion", len(resumed))
		}
		if r.reconnected.Load() != 1 || r.relisted.Load() != 0 {
			t.Errorf("counted %d reconnects and %d relists", r.reconnected.Load(), r.relisted.Load())
		}
	})
}

// A lease that ends deletes many events at one resourceVersion, and a stream may break off among them.
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
			t.Errorf("resumed at %s, which skips what else happened at 4", at)
		}
		r.Script(testkit.AskWatch, r.Truth)
		r.Put("ns/c", "1") // readers are not shown before that all is gone
		elapse(time.Minute)
		if diff := cmp.Diff([]string{"ns/c@5"}, contents(t, lane)); diff != "" {
			t.Error(diff)
		}
	})
}

// The event at which etcd was compacted it still sends, but not what was there before, and kube-apiserver fails at
// that. A lane that has everything of its version does not ask for it again; one that has to is listed again.
func TestWatchOfEventsFromACompaction(t *testing.T) {
	inBubble(t, events, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		r.Put("ns/b", "1")
		lane := r.synced(t)
		r.DropWatches()
		elapse(time.Second)
		all := r.Requests(testkit.AskWatch)
		if at := all[len(all)-1].URL.Query().Get("resourceVersion"); at != "3" {
			t.Errorf("resumed at %s behind a list of 3", at)
		}
		r.Delete("ns/a") // which may not be all that went with it
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
			t.Errorf("listed again %d times", r.relisted.Load())
		}
	})
}

// What follows the lane may be that event: it is listed again, too. Of what kube-apiserver has in a cache such a
// failure means something else, and it is tried again.
func TestWatchFailsAtOnce(t *testing.T) {
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
				t.Errorf("%s: listed again %d times", c.kind.Kind, r.relisted.Load())
			}
		})
	}
}

// The upstream no longer holds the lane's resourceVersion: as an answer, or inside a stream that began well.
func TestWindowLost(t *testing.T) {
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
					t.Errorf("listed %d times, counted %d relists", r.Asked(testkit.AskStreaming), r.relisted.Load())
				}
				watcher.Next()
				if expired := (*cache.ExpiredError)(nil); !errors.As(watcher.Err(), &expired) {
					t.Errorf("the watcher of the last epoch ended with %v", watcher.Err())
				}
			})
		})
	}
}

// What must not be believed: each is an error that is told, tried again at growing distances, and leaves the State
// alone.
func TestWatchLies(t *testing.T) {
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
		"wrong scope":               {[]string{good, object("ADDED", "cluster-wide", 4, "1")}, []string{"ns/a@3"}, "does not fit its resource's scope"},
		"resourceVersion back":      {[]string{object("ADDED", "ns/b", 9, "1"), object("ADDED", "ns/c", 4, "1")}, []string{"ns/a@2", "ns/b@9"}, "decreased from 9 to 4"},
		"bookmark back":             {[]string{object("ADDED", "ns/b", 9, "1"), object("BOOKMARK", "ns/c", 4, "1")}, []string{"ns/a@2", "ns/b@9"}, "decreased from 9 to 4"},
		"resourceVersion absent":    {[]string{`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"ns"}}}` + "\n"}, []string{"ns/a@2"}, "resourceVersion"},
		"resourceVersion no number": {[]string{strings.ReplaceAll(good, `"3"`, `"three"`)}, []string{"ns/a@2"}, "invalid syntax"},
		"ERROR without a Status":    {[]string{`{"type":"ERROR","object":{}}` + "\n"}, []string{"ns/a@2"}, "answered 500"},
		"a whole list":              {[]string{`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}` + "\n"}, []string{"ns/a@2"}, "read a watch frame: "},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Put("ns/a", "1")
				lane := r.synced(t)
				r.Script(testkit.AskWatch, frames(c.frames...))
				for range 10 {
					r.Elsewhere() // the upstream is not behind its own lies
				}
				r.DropWatches()
				elapse(5 * time.Minute)
				if diff := cmp.Diff(c.want, contents(t, lane)); diff != "" {
					t.Error(diff)
				}
				if !r.logged(c.error) {
					t.Errorf("nothing was logged about %q: %v", c.error, r.logs.All())
				}
				if n := r.Asked(testkit.AskWatch); n < 5 || n > 30 {
					t.Errorf("tried %d times in five minutes", n)
				}
				if lane.StaleFor() < 4*time.Minute {
					t.Errorf("the lane calls itself %s old", lane.StaleFor())
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

// The same event again is no error: a watch may be resumed before what the lane has.
func TestWatchRepeats(t *testing.T) {
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
			t.Error("the watch was given up")
		}
	})
}

// An upstream that ends every watch at once must not be asked in a busy loop.
func TestWatchEndsAtOnce(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		r.Script(testkit.AskWatch, text(""))
		r.DropWatches()
		elapse(10 * time.Minute)
		if n := r.Asked(testkit.AskWatch); n < 10 || n > 40 {
			t.Errorf("asked %d times in ten minutes", n)
		}
		if got := contents(t, lane); len(got) != 1 {
			t.Errorf("the lane holds %v", got)
		}
	})
}

func TestFrameOverTheLimit(t *testing.T) {
	body := io.MultiReader(strings.NewReader(`{"type":"ADDED","object":{"kind":"`), strings.NewReader(strings.Repeat("x", 1<<20)))
	s := &stream{listWatch: &listWatch{}, frames: wire.Lines{}.Reader(body, 1<<16)}
	if _, err := s.next(); err == nil || err.Error() != "watch frame exceeds 65536 bytes" {
		t.Errorf("the error is %v", err)
	}
}

// A frame without end: neither memory nor patience is without end.
func TestEndlessFrame(t *testing.T) {
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
			t.Errorf("the lane holds %v", got)
		}
	})
}

// 429 and 503 say when to come back.
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
						t.Errorf("asked %d times although told to wait", n)
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
	// At most half a minute is believed: an upstream that says "tomorrow" is asked again.
	for header, want := range map[string]time.Duration{"": 0, "5": 5 * time.Second, "86400": maxRetryAfter, "-1": 0, "Tue, 29 Oct 2030 16:56:32 GMT": 0} {
		err := fmt.Errorf("wrapped: %w", &upstream.StatusError{Header: http.Header{"Retry-After": {header}}})
		if got := retryAfter(err); got != want {
			t.Errorf("Retry-After %q: %s, want %s", header, got, want)
		}
	}
}

// An upstream that is away for a moment now and then is followed again within a moment each time; and so is one that
// forgets its window each time.
func TestBackSoon(t *testing.T) {
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
						t.Fatalf("the %d. time, 15 seconds after it was back\n%s", i+1, diff)
					}
				}
			})
		})
	}
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackoff(func() time.Duration { return 0 })
		for floor := 100 * time.Millisecond; floor < 30*time.Second; floor *= 2 {
			began := time.Now()
			b.sleep(t.Context(), 0)
			if took := time.Since(began); took < floor || took > 2*floor {
				t.Errorf("slept %s, want %s to %s", took, floor, 2*floor)
			}
		}
		for range 5 {
			began := time.Now()
			b.sleep(t.Context(), 0)
			if took := time.Since(began); took < 25*time.Second || took > time.Minute {
				t.Errorf("slept %s at the end", took)
			}
		}
		elapse(time.Hour) // an attempt may hang
		b.noteUptime(settled)
		began := time.Now()
		b.sleep(t.Context(), 0)
		if took := time.Since(began); took < 25*time.Second {
			t.Errorf("slept %s after a stream that broke off at once", took)
		}
		b.noteUptime(10 * time.Second)
		began = time.Now()
		b.sleep(t.Context(), 0)
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("slept %s after ten seconds in which all was well", took)
		}
	})
}

// TestOutageIsNotOutlasted: pauses have grown to half a minute and more in a long outage. They are over when it is.
func TestOutageIsNotOutlasted(t *testing.T) {
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
				t.Fatalf("the lane is at %d, the upstream at %d, %s behind", at, rv, lane.StaleFor())
			}
		}
	})
}
