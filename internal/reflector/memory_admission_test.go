package reflector

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/selectors"
)

// someMemory is a Memory of that many bytes.
type someMemory struct{ left, asked atomic.Int64 }

// Fits implements Memory.
func (m *someMemory) Fits(bytes int64) bool {
	m.asked.Store(bytes)
	return bytes <= m.left.Load()
}

// Spares implements Memory.
func (m *someMemory) Spares(bytes int64) bool { return bytes <= m.left.Load() }

// inMemory runs a test with lanes that have limited memory, and objects of 3 MiB in total.
func inMemory(t *testing.T, memory *someMemory, test func(*testing.T, *rig)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{Memory: memory})
		for i := range 30 {
			r.Put(fmt.Sprintf("ns/%02d", i), strings.Repeat("x", 100<<10))
		}
		test(t, r)
	})
}

// failsFor checks that Get fails for lack of memory, and returns the time until the next attempt.
func (r *rig) failsFor(t *testing.T) time.Duration {
	t.Helper()
	_, err := r.lanes.Get(r.resource(), jsonwire.Encoding{})
	var full *NoMemoryError
	if !errors.As(err, &full) || !errors.Is(err, ErrNoMemory) || !strings.Contains(err.Error(), "configmaps") {
		t.Fatalf("Get: got %v, want ErrNoMemory", err)
	}
	return full.After
}

// A lane that does not fit stops filling. It is filled again when there is as much memory as it needs.
func TestLaneThatDoesNotFitStopsFilling(t *testing.T) {
	memory := &someMemory{}
	memory.left.Store(-1)
	inMemory(t, memory, func(t *testing.T, r *rig) {
		lane := r.lane(t)
		lane.AwaitSync(t.Context(), time.Hour)
		if failure := lane.Failure(); failure == nil || !failure.Refused || !failure.NoMemory() {
			t.Fatalf("got failure %+v, want one for lack of memory", failure)
		}
		if stats := lane.Cache.Stats(); stats.Memory() != 0 {
			t.Errorf("got memory in use: %+v", stats)
		}
		if !r.logged("there is no memory for this resource") {
			t.Error("got no log message about the memory")
		}
		if after := r.failsFor(t); after != noMemoryPauseAtFirst {
			t.Errorf("got the next attempt after %s", after)
		}
		elapse(noMemoryPauseAtFirst)
		memory.left.Store(0)
		r.failsFor(t)
		if asked := memory.asked.Load(); asked < 1<<20 || r.Asked(testkit.AskStreaming) != 1 {
			t.Errorf("got a need of %d and %d lists", asked, r.Asked(testkit.AskStreaming))
		}
		memory.left.Store(1 << 30)
		elapse(2 * noMemoryPauseAtFirst)
		r.synced(t)
	})
}

// The memory that a lane needs is an estimate. In the end the lane is tried even if there never is as much. A small
// lane is tried immediately.
func TestEstimatesDoNotLast(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		rooms, key, memory := newMemoryAdmission(), laneKey{gvr: configMaps.GVR}, &someMemory{}
		memory.left.Store(100 << 20)
		rooms.note(key, 900<<20)
		began := time.Now()
		for rooms.find(key, memory) != nil && time.Since(began) < time.Hour {
			<-time.After(time.Second)
		}
		if took := time.Since(began); took < 4*noMemoryPauseAtFirst || took > 10*time.Minute {
			t.Errorf("got an attempt after %s", took)
		}
		memory.left.Store(-1)
		rooms.note(key, lookEvery-1)
		<-time.After(noMemoryPauseAtMost)
		if err := rooms.find(key, memory); err != nil {
			t.Errorf("small lane: got %v", err)
		}
	})
}

// Pauses grow while a lane does not fit, whatever the estimate. They are short again after a long time.
func TestPausesWithoutMemoryGrow(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		rooms, key := newMemoryAdmission(), laneKey{gvr: configMaps.GVR}
		want := noMemoryPauseAtFirst
		for range 12 {
			rooms.note(key, 1)
			var full *NoMemoryError
			if err := rooms.find(key, unlimited{}); !errors.As(err, &full) || full.After != want {
				t.Fatalf("got %v after %v, want %s", err, full, want)
			}
			<-time.After(want)
			if err := rooms.find(key, unlimited{}); err != nil {
				t.Fatal(err)
			}
			want = min(2*want, noMemoryPauseAtMost)
		}
		<-time.After(noMemoryPauseAtMost)
		rooms.note(key, 1)
		var full *NoMemoryError
		if err := rooms.find(key, unlimited{}); !errors.As(err, &full) || full.After != noMemoryPauseAtFirst {
			t.Errorf("after a long time: got %v", err)
		}
	})
}

// A relisted lane may not fit next to its old content. Then it ends with its watches, and is filled again from nothing.
func TestRelistThatDoesNotFitEndsLane(t *testing.T) {
	memory := &someMemory{}
	inMemory(t, memory, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		watcher, err := lane.Cache.Watch(cache.WatchOptions{Predicate: lane.Kind().Predicate("", nil, nil), Start: cache.FromNow()})
		if err != nil {
			t.Fatal(err)
		}
		memory.left.Store(-1)
		lane.contradict(errContradicted)
		elapse(time.Minute)
		if watcher.Next(); watcher.Err() == nil {
			t.Error("the watch did not end")
		}
		memory.left.Store(1 << 30)
		if r.synced(t) == lane {
			t.Error("got the same lane, want another one")
		}
	})
}

// Watched and kept lanes are dropped last. Among the others, the least recently read lane is dropped first.
func TestColdestLaneGoesFirst(t *testing.T) {
	kind := selectors.ForBuiltin(configMaps.GVR.GroupVersion().WithKind(configMaps.Kind), selectors.Namespaced)
	shape := jsonwire.Encoding{}.Shape(wire.Description{Resource: configMaps.GVR, ListKind: "ConfigMapList"})
	var lanes []*Reflector
	names := map[*Reflector]string{}
	add := func(name string, idle time.Duration, watches int) *Reflector {
		r := &Reflector{lane: &lane{Cache: cache.NewLane(cache.Options{})}}
		r.began = time.Now().Add(-idle)
		r.Cache.Replace(1, shape, nil)
		t.Cleanup(r.Cache.Close)
		for range watches {
			watcher, err := r.Cache.Watch(cache.WatchOptions{Predicate: kind.Predicate("", nil, nil), Start: cache.FromNow()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(watcher.Close)
		}
		lanes, names[r] = append(lanes, r), name
		return r
	}
	unfilled := add("not filled yet", 0, 0)
	unfilled.Cache = cache.NewLane(cache.Options{})
	add("kept", time.Hour, 0).kept.Store(true)
	add("watched by two", time.Hour, 2)
	add("watched by one", time.Minute, 1)
	add("just read", 0, 0)
	add("read a minute ago", time.Minute, 0)
	add("read an hour ago", time.Hour, 0)
	var got []string
	for _, r := range byWarmth(lanes) {
		got = append(got, names[r])
	}
	want := []string{"not filled yet", "read an hour ago", "read a minute ago", "just read", "watched by one", "watched by two", "kept"}
	if !slices.Equal(got, want) {
		t.Errorf("got the order %q", got)
	}
}

// A dropped lane ends with its watches, and is filled again when there is memory for it. A lane that is read is not
// dropped for another.
func TestDroppedLaneEnds(t *testing.T) {
	memory := &someMemory{}
	memory.left.Store(1 << 30)
	inMemory(t, memory, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		stats := lane.Cache.Stats()
		if freed := r.lanes.DropUnread(1); freed != 0 {
			t.Errorf("got %d bytes freed from a lane that was just read, want 0", freed)
		}
		elapse(unread + time.Second)
		_, _ = r.lanes.Keep(r.resource(), jsonwire.Encoding{})
		elapse(unread + time.Second)
		if freed := r.lanes.DropUnread(1); freed != 0 {
			t.Errorf("got %d bytes freed from a kept lane, want 0", freed)
		}
		lane.kept.Store(false)
		if freed := r.lanes.DropUnread(1); freed != stats.Memory() || freed < 3_000_000 || len(r.lanes.All()) != 0 {
			t.Errorf("got %d bytes freed of %d, and %d lanes", freed, stats.Memory(), len(r.lanes.All()))
		}
		synctest.Wait()
		if _, err := lane.Cache.State(); !errors.Is(err, cache.ErrClosed) {
			t.Errorf("got %v, want a stopped lane", err)
		}
		if r.failsFor(t) != noMemoryPauseAtFirst {
			t.Error("got a lane that is filled again immediately, want a pause")
		}
		elapse(noMemoryPauseAtFirst)
		again := r.synced(t)
		if freed := r.lanes.DropColdest(1); freed < 3_000_000 || again.Resource != lane.Resource {
			t.Errorf("got %d bytes freed from the coldest lane", freed)
		}
	})
}

// Shorten reduces the history to its minimum, and no further.
func TestHistoryIsShortened(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		for i := range 400 {
			r.Put("ns/a", strings.Repeat("x", i))
		}
		elapse(5 * time.Minute)
		before := lane.Cache.Stats().HistoryBytes
		freed := r.lanes.Shorten(1)
		if left := lane.Cache.Stats().HistoryBytes; freed <= 0 || left <= 0 || left != before-freed {
			t.Errorf("got %d of %d bytes of history, and %d freed", left, before, freed)
		}
		if again := r.lanes.Shorten(1); again != 0 {
			t.Errorf("got %d bytes freed below the minimum, want 0", again)
		}
	})
}
