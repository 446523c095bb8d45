package reflector

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

const versionPath = "/version"

// isVersion makes the fake say that it is of a version.
func (r *rig) isVersion(version string) {
	r.Script(versionPath, text(fmt.Sprintf(`{"major":"1","gitVersion":%q}`, version)))
}

// shown is an object as the lane shows it.
func shown(t *testing.T, lane *Reflector, key string) string {
	t.Helper()
	state := stateOf(t, lane)
	object, ok := state.Get(key)
	if !ok {
		t.Fatalf("%s is not there", key)
	}
	return string(state.Shape().AppendObject(nil, wire.Representation{Kind: wire.Whole}, object.Item(), time.Now()))
}

// A kube-apiserver of another version writes the same objects in other words. The lane does not keep the old ones until
// each object happens to change, however its watch came to end.
func TestUpstreamReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		version http.HandlerFunc // of the one that comes
		peace   bool             // the watch ends because its time is over
		listed  int64            // again
	}{
		"another version":                     {text(`{"gitVersion":"v1.38.0"}`), false, 1},
		"another version, in peace":           {text(`{"gitVersion":"v1.38.0"}`), true, 1},
		"another that it acts as":             {text(`{"gitVersion":"v1.37.0","emulationMajor":"1","emulationMinor":"36"}`), false, 1},
		"the same, built elsewhere":           {text(`{"gitVersion":"v1.37.0","platform":"linux/arm64"}`), false, 0},
		"not told":                            {testkit.Refuse(http.StatusForbidden, "Forbidden"), false, 0},
		"told too late":                       {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false, 0},
		"told by something that is no server": {text("<html>"), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Put("ns/a", "written before")
				r.isVersion("v1.37.0")
				lane := r.synced(t)
				watcher := watchAll(t, lane)
				elapse(time.Minute)
				r.Script(versionPath, c.version)
				r.Rewrite(func(text string) string { return strings.Replace(text, "written before", "written anew", 1) })
				if c.peace {
					elapse(10 * time.Minute)
				} else {
					r.DropWatches()
				}
				elapse(time.Minute)
				if n := r.relisted.Load(); n != c.listed {
					t.Errorf("listed again %d times", n)
				}
				if got, anew := shown(t, lane, "ns/a"), c.listed > 0; strings.Contains(got, "written anew") != anew {
					t.Errorf("the lane shows %s", got)
				}
				if watcher.Next(); (watcher.Err() != nil) != (c.listed > 0) {
					t.Errorf("the watcher ended with %v", watcher.Err())
				}
				elapse(time.Hour)
				if n := r.relisted.Load(); n != c.listed || lane.StaleFor() > versionWait+outageEvery {
					t.Errorf("listed again %d times, %s old", n, lane.StaleFor())
				}
			})
		})
	}
}

// What was listed while servers of two versions took turns may be of either: it is listed again until it is certain.
func TestListedWhileReplaced(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		var turns atomic.Int64
		r.Script(versionPath, func(w http.ResponseWriter, request *http.Request) {
			text(fmt.Sprintf(`{"gitVersion":"v1.%d.0"}`, 37+turns.Add(1)%2))(w, request)
		})
		r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(time.Millisecond) // between the two questions
			r.Truth(w, request)
		})
		lane := r.synced(t)
		r.isVersion("v1.38.0")
		r.DropWatches()
		elapse(time.Minute)
		r.DropWatches()
		elapse(time.Minute)
		if n := r.relisted.Load(); n != 1 || lane.StaleFor() != 0 {
			t.Errorf("listed again %d times, %s old", n, lane.StaleFor())
		}
	})
}

// answersInTurn makes the fake answer each question for its version with the next of these, and the last from then on;
// an empty one is not told.
func (r *rig) answersInTurn(versions ...string) {
	var asked atomic.Int64
	r.Script(versionPath, func(w http.ResponseWriter, request *http.Request) {
		version := versions[min(int(asked.Add(1)), len(versions))-1]
		if version == "" {
			testkit.Refuse(http.StatusServiceUnavailable, "ServiceUnavailable")(w, request)
			return
		}
		text(fmt.Sprintf(`{"gitVersion":%q}`, version))(w, request)
	})
	r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
		<-time.After(time.Millisecond) // between two questions
		r.Truth(w, request)
	})
}

// A version that was not told is no other one. Where nobody knows of which version the list was, or it may be of two,
// watches go on if a new one has the same.
func TestUnknownVersionEndsNoWatch(t *testing.T) {
	for name, c := range map[string]struct {
		versions []string
		anew     bool  // the later one writes in another way
		listed   int64 // again
		ends     bool  // the watch
	}{
		"not told after the list":           {[]string{"v1.37.0", "", "v1.37.0"}, false, 0, false},
		"not told before the list":          {[]string{"", "v1.37.0"}, false, 0, false},
		"not told":                          {[]string{"", "", "v1.37.0"}, false, 1, false},
		"two versions":                      {[]string{"v1.37.0", "v1.38.0"}, false, 1, false},
		"two versions, that write two ways": {[]string{"v1.37.0", "v1.38.0"}, true, 1, true},
		"replaced while not told":           {[]string{"v1.37.0", "", "v1.38.0"}, true, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, configMaps, Config{ReplayLostWindows: true})
				r.Put("ns/a", "written before")
				r.answersInTurn(c.versions...)
				lane := r.synced(t)
				watcher := watchAll(t, lane)
				if c.anew {
					r.Rewrite(func(text string) string { return strings.Replace(text, "written before", "written anew", 1) })
				}
				for range 3 {
					r.DropWatches()
					elapse(time.Minute)
				}
				if n := r.relisted.Load(); n != c.listed || lane.StaleFor() > 0 {
					t.Errorf("listed again %d times, want %d; %s old", n, c.listed, lane.StaleFor())
				}
				if watcher.Next(); (watcher.Err() != nil) != c.ends {
					t.Errorf("the watcher ended with %v, want an end: %t", watcher.Err(), c.ends)
				}
				if got := shown(t, lane, "ns/a"); strings.Contains(got, "anew") != c.anew {
					t.Errorf("the lane shows %s", got)
				}
			})
		})
	}
}

// Servers of two versions behind one address, of which each question finds another, do not have lanes listed with each
// watch.
func TestVersionsThatTakeTurnsAreBraked(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		var asked atomic.Int64
		r.Script(versionPath, func(w http.ResponseWriter, request *http.Request) {
			text(fmt.Sprintf(`{"gitVersion":"v1.%d.0"}`, 37+asked.Add(1)%2))(w, request)
		})
		lane := r.synced(t)
		for range 24 { // two hours of watches that last five minutes
			r.DropWatches()
			elapse(5 * time.Minute)
		}
		if n := r.relisted.Load(); n < 1 || n > 4 || lane.StaleFor() > 0 {
			t.Errorf("listed again %d times in two hours, %s old", n, lane.StaleFor())
		}
	})
}

// The pauses grow up to a day, and are short again when the versions have agreed for as long.
func TestReplacementsAreBraked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, lists := newReplacement(), 0
		for range 3 * 24 * 12 { // three days
			if r.lists() {
				lists++
			}
			<-time.After(5 * time.Minute)
		}
		if lists < 5 || lists > 10 {
			t.Errorf("listed %d times", lists)
		}
		r.agrees()
		if r.lists() {
			t.Error("listed because the versions agreed once")
		}
		<-time.After(r.pause + time.Minute)
		r.agrees()
		for range 2 {
			if !r.lists() {
				t.Error("not listed for another version after a long time of one")
			}
			<-time.After(relistPause + time.Minute)
		}
	})
}

// Lanes share what they ask: those that lost their watches at once, and those whose watches end in peace.
func TestVersionIsShared(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		asks := func(moment func() time.Time) int {
			before := r.Asked(versionPath)
			var lanes sync.WaitGroup
			for range 100 {
				lanes.Go(func() {
					if got := r.lanes.versions.since(t.Context(), moment()); got == "" {
						t.Error("not told")
					}
				})
			}
			lanes.Wait()
			return r.Asked(versionPath) - before
		}
		r.Script(versionPath, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(time.Millisecond)
			text(`{"gitVersion":"v1.37.0"}`)(w, request)
		})
		if n := asks(time.Now); n < 1 || n > 2 {
			t.Errorf("asked %d times at once", n)
		}
		<-time.After(versionAge / 2)
		if n := asks(func() time.Time { return time.Now().Add(-versionAge) }); n != 0 {
			t.Errorf("asked %d times although it was told a moment ago", n)
		}
		<-time.After(time.Second)
		if n := asks(time.Now); n == 0 {
			t.Error("an answer of before is taken for one of now")
		}
	})
}

// In peace a lane costs one question for each of its watches, and two lanes that resume together one together.
func TestVersionQuestionsInPeace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{})
		r.isVersion("v1.37.0")
		r.synced(t)
		if _, err := r.lanes.Get(r.resource(), otherEncoding{jsonwire.Encoding{}}); err != nil {
			t.Fatal(err)
		}
		elapse(time.Minute)
		asked, watches := r.Asked(versionPath), r.Asked(testkit.AskWatch)
		elapse(10 * time.Hour)
		if n, resumed := r.Asked(versionPath)-asked, r.Asked(testkit.AskWatch)-watches; n > resumed || n == 0 || r.relisted.Load() != 0 {
			t.Errorf("asked %d times for %d watches, listed again %d times", n, resumed, r.relisted.Load())
		}
	})
}
