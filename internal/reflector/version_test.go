package reflector

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

const versionPath = "/version"

// isVersion makes the fake return a version.
func (r *rig) isVersion(version string) {
	r.Script(versionPath, text(fmt.Sprintf(`{"major":"1","gitVersion":%q}`, version)))
}

// shown returns an object of the lane's State.
func shown(t *testing.T, lane *Reflector, key string) string {
	t.Helper()
	state := stateOf(t, lane)
	object, ok := state.Get(key)
	if !ok {
		t.Fatalf("got no object %s", key)
	}
	return string(state.Shape().AppendObject(nil, wire.Representation{Kind: wire.Whole}, object.Item(), time.Now()))
}

// A kube-apiserver of another version represents the same objects differently. The lane must not keep the old
// representation until each object changes, however its watch ended.
func TestReplacedUpstreamRelists(t *testing.T) {
	for name, c := range map[string]struct {
		version http.HandlerFunc // version of the new upstream
		peace   bool             // whether the watch ends at its timeout
		listed  int64            // number of relists
	}{
		"another version":           {text(`{"gitVersion":"v1.38.0"}`), false, 1},
		"another version, in peace": {text(`{"gitVersion":"v1.38.0"}`), true, 1},
		"another emulated version":  {text(`{"gitVersion":"v1.37.0","emulationMajor":"1","emulationMinor":"36"}`), false, 1},
		"the same, built elsewhere": {text(`{"gitVersion":"v1.37.0","platform":"linux/arm64"}`), false, 0},
		"unknown":                   {testkit.Refuse(http.StatusForbidden, "Forbidden"), false, 0},
		"too late":                  {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false, 0},
		"not a server":              {text("<html>"), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Put("ns/a", "written before")
				r.isVersion("v1.37.0")
				lane := r.synced(t)
				watcher := watchAll(t, lane)
				elapse(time.Minute)
				r.Script(versionPath, c.version)
				r.Rewrite(func(text string) string { return strings.Replace(text, "written before", "written after", 1) })
				if c.peace {
					elapse(10 * time.Minute)
				} else {
					r.DropWatches()
				}
				elapse(time.Minute)
				if n := r.relisted.Load(); n != c.listed {
					t.Errorf("got %d relists", n)
				}
				if got, relisted := shown(t, lane, "ns/a"), c.listed > 0; strings.Contains(got, "written after") != relisted {
					t.Errorf("got object %s", got)
				}
				if watcher.Next(); (watcher.Err() != nil) != (c.listed > 0) {
					t.Errorf("got watcher error %v", watcher.Err())
				}
				elapse(time.Hour)
				if n := r.relisted.Load(); n != c.listed || lane.StaleFor() > versionWait+outageEvery {
					t.Errorf("got %d relists, stale for %s", n, lane.StaleFor())
				}
			})
		})
	}
}

// A list that was read while servers of two versions alternated may be of either. The lane is listed again until its
// version is certain.
func TestListOfUncertainVersionIsRepeated(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		var turns atomic.Int64
		r.Script(versionPath, func(w http.ResponseWriter, request *http.Request) {
			text(fmt.Sprintf(`{"gitVersion":"v1.%d.0"}`, 37+turns.Add(1)%2))(w, request)
		})
		r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(time.Millisecond) // between the two requests
			r.Truth(w, request)
		})
		lane := r.synced(t)
		r.isVersion("v1.38.0")
		r.DropWatches()
		elapse(time.Minute)
		r.DropWatches()
		elapse(time.Minute)
		if n := r.relisted.Load(); n != 1 || lane.StaleFor() != 0 {
			t.Errorf("got %d relists, stale for %s", n, lane.StaleFor())
		}
	})
}

// answersInTurn makes the fake return these versions one after the other, and then always the last one. An empty
// version is an error.
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
		<-time.After(time.Millisecond) // between two requests
		r.Truth(w, request)
	})
}

// An unknown version counts as unchanged. If the version of the list is unknown or uncertain, watches continue if a new
// list has the same objects.
func TestUnknownVersionEndsNoWatch(t *testing.T) {
	for name, c := range map[string]struct {
		versions []string
		relisted bool  // whether the later version represents objects differently
		listed   int64 // number of relists
		ends     bool  // whether the watch ends
	}{
		"unknown after the list":            {[]string{"v1.37.0", "", "v1.37.0"}, false, 0, false},
		"unknown before the list":           {[]string{"", "v1.37.0"}, false, 0, false},
		"unknown":                           {[]string{"", "", "v1.37.0"}, false, 1, false},
		"two versions":                      {[]string{"v1.37.0", "v1.38.0"}, false, 1, false},
		"two versions, that write two ways": {[]string{"v1.37.0", "v1.38.0"}, true, 1, true},
		"replaced while unknown":            {[]string{"v1.37.0", "", "v1.38.0"}, true, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				r := newRig(t, configMaps, Config{ReplayLostWindows: true})
				r.Put("ns/a", "written before")
				r.answersInTurn(c.versions...)
				lane := r.synced(t)
				watcher := watchAll(t, lane)
				if c.relisted {
					r.Rewrite(func(text string) string { return strings.Replace(text, "written before", "written after", 1) })
				}
				for range 3 {
					r.DropWatches()
					elapse(time.Minute)
				}
				if n := r.relisted.Load(); n != c.listed || lane.StaleFor() > 0 {
					t.Errorf("got %d relists, want %d; stale for %s", n, c.listed, lane.StaleFor())
				}
				if watcher.Next(); (watcher.Err() != nil) != c.ends {
					t.Errorf("got watcher error %v, want an end: %t", watcher.Err(), c.ends)
				}
				if got := shown(t, lane, "ns/a"); strings.Contains(got, "after") != c.relisted {
					t.Errorf("got object %s", got)
				}
			})
		})
	}
}

// Alternating versions behind one address do not cause a relist with each watch.
func TestAlternatingVersionsRarelyRelist(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		var asked atomic.Int64
		r.Script(versionPath, func(w http.ResponseWriter, request *http.Request) {
			text(fmt.Sprintf(`{"gitVersion":"v1.%d.0"}`, 37+asked.Add(1)%2))(w, request)
		})
		lane := r.synced(t)
		for range 24 { // two hours of watches of nearly five minutes, after which the lane itself may end them
			r.DropWatches()
			elapse(5*time.Minute - time.Second)
		}
		if n := r.relisted.Load(); n < 1 || n > 4 || lane.StaleFor() > 0 {
			t.Errorf("got %d relists in two hours, stale for %s", n, lane.StaleFor())
		}
	})
}

// The pauses grow up to a day, and are short again when the versions have agreed for as long.
func TestPausesBetweenVersionRelistsGrow(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
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
			t.Error("got a relist after the versions agreed once, want none")
		}
		<-time.After(r.pause + time.Minute)
		r.agrees()
		for range 2 {
			if !r.lists() {
				t.Error("got no relist for another version after a long time, want one")
			}
			<-time.After(relistPause + time.Minute)
		}
	})
}

// Lanes share requests for the version: lanes whose watches break off together, and lanes whose watches end at their
// timeout.
func TestVersionRequestsAreShared(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		asks := func(moment func() time.Time) int {
			before := r.Asked(versionPath)
			var lanes sync.WaitGroup
			for range 100 {
				lanes.Go(func() {
					if got := r.lanes.versions.since(t.Context(), moment()); got == "" {
						t.Error("got no version")
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
			t.Errorf("got %d concurrent requests", n)
		}
		<-time.After(versionAge / 2)
		if n := asks(func() time.Time { return time.Now().Add(-versionAge) }); n != 0 {
			t.Errorf("got %d requests although the version is recent", n)
		}
		<-time.After(time.Second)
		if n := asks(time.Now); n == 0 {
			t.Error("got an old version for a later moment")
		}
	})
}

// Without errors a lane sends one request for each watch, and two lanes that resume together share one.
func TestOneVersionRequestPerWatch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{})
		r.isVersion("v1.37.0")
		r.synced(t)
		if _, err := r.lanes.Get(r.resource(), otherEncoding{jsonwire.Encoding{}}); err != nil {
			t.Fatal(err)
		}
		elapse(time.Minute)
		asked, watches := r.Asked(versionPath), r.Asked(testkit.AskWatch)
		elapse(time.Duration(settings.Amount(1, 10)) * time.Hour)
		if n, resumed := r.Asked(versionPath)-asked, r.Asked(testkit.AskWatch)-watches; n > resumed || n == 0 || r.relisted.Load() != 0 {
			t.Errorf("got %d requests for %d watches, and %d relists", n, resumed, r.relisted.Load())
		}
	})
}
