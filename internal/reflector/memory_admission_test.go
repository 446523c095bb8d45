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
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/selectors"
)

// someMemory is memory for so many bytes more.
type someMemory struct{ left, asked atomic.Int64 }

// Fits implements Memory.
func (m *someMemory) Fits(bytes int64) bool {
	m.asked.Store(bytes)
	return bytes <= m.left.Load()
}

// Spares implements Memory.
func (m *someMemory) Spares(bytes int64) bool { return bytes <= m.left.Load() }

// inMemory runs a test with lanes that have some memory, of objects that are 3 MiB together.
func inMemory(t *testing.T, memory *someMemory, test func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{Memory: memory})
		for i := range 30 {
			r.Put(fmt.Sprintf("ns/%02d", i), strings.Repeat("x", 100<<10))
		}
		test(t, r)
	})
}

// failsFor wants a lane not to be given out, and says for how long that is.
func (r *rig) failsFor(t *testing.T) time.Duration {
	t.Helper()
	_, err := r.lanes.Get(r.resource(), jsonwire.Encoding{})
	var full *NoMemoryError
	if !errors.As(err, &full) || !errors.Is(err, ErrNoMemory) || !strings.Contains(err.Error(), "configmaps") {
		t.Fatalf("the lane is given out: %v", err)
	}
	return full.After
}

// A lane that does not fit gives up, is not filled again before there is as much memory as it needs, and is then.
func TestLaneThatDoesNotFit(t *testing.T) {
	memory := &someMemory{}
	memory.left.Store(-1)
	inMemory(t, memory, func(t *testing.T, r *rig) {
		lane := r.lane(t)
		lane.AwaitSync(t.Context(), time.Hour)
		if failure := lane.Failure(); failure == nil || !failure.Refused || !failure.NoMemory() {
			t.Fatalf("the lane is filled: %+v", failure)
		}
		if stats := lane.Cache.Stats(); stats.Memory() != 0 {
			t.Errorf("it takes memory: %+v", stats)
		}
		if !r.logged("there is no memory for this resource") {
			t.Error("it is not logged")
		}
		if after := r.failsFor(t); after != noMemoryPauseAtFirst {
			t.Errorf("it is to be asked for again after %s", after)
		}
		elapse(noMemoryPauseAtFirst)
		memory.left.Store(0)
		r.failsFor(t)
		if asked := memory.asked.Load(); asked < 1<<20 || r.Asked(testkit.AskStreaming) != 1 {
			t.Errorf("it needs %d, and was listed %d times", asked, r.Asked(testkit.AskStreaming))
		}
		memory.left.Store(1 << 30)
		elapse(2 * noMemoryPauseAtFirst)
		r.synced(t)
	})
}

// What a lane needs was an estimate: it is tried in the end although there never is as much memory, and a small one is
// tried at once.
func TestEstimatesDoNotLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rooms, key, memory := newMemoryAdmission(), laneKey{gvr: configMaps.GVR}, &someMemory{}
		memory.left.Store(100 << 20)
		rooms.note(key, 900<<20)
		began := time.Now()
		for rooms.find(key, memory) != nil && time.Since(began) < time.Hour {
			<-time.After(time.Second)
		}
		if took := time.Since(began); took < 4*noMemoryPauseAtFirst || took > 10*time.Minute {
			t.Errorf("it is tried after %s", took)
		}
		memory.left.Store(-1)
		rooms.note(key, lookEvery-1)
		<-time.After(noMemoryPauseAtMost)
		if err := rooms.find(key, memory); err != nil {
			t.Errorf("a small one: %v", err)
		}
	})
}

// Pauses grow while a lane does not fit, whatever was estimated of it, and are short again after a long time.
func TestPausesWithoutRoomGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rooms, key := newMemoryAdmission(), laneKey{gvr: configMaps.GVR}
		want := noMemoryPauseAtFirst
		for range 12 {
			rooms.note(key, 1)
			var full *NoMemoryError
			if err := rooms.find(key, unlimited{}); !errors.As(err, &full) || full.After != want {
				t.Fatalf("%v after %v, want %s", err, full, want)
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
			t.Errorf("after a long time: %v", err)
		}
	})
}

// A lane that is listed again does not fit beside itself: it ends, its watches with it, and is filled from nothing.
func TestRelistThatDoesNotFit(t *testing.T) {
	memory := &someMemory{}
	inMemory(t, memory, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		watcher, err := lane.Cache.Watch(cache.WatchOptions{Predicate: lane.Kind().Predicate("", nil, nil), Start: cache.FromNow()})
		if err != nil {
			t.Fatal(err)
		}
		memory.left.Store(-1)
		lane.Contradicted()
		elapse(time.Minute)
		if watcher.Next(); watcher.Err() == nil {
			t.Error("the watch goes on")
		}
		memory.left.Store(1 << 30)
		if r.synced(t) == lane {
			t.Error("the lane is the same")
		}
	})
}

// Which lane goes first: not one that is watched, nor one to be kept, while there is another, however lately that was
// read; and of the others the one that was read least lately.
func TestColdestLaneGoesFirst(t *testing.T) {
	kind := selectors.ForBuiltin(configMaps.GVR.GroupVersion().WithKind(configMaps.Kind), selectors.Namespaced)
	shape := jsonwire.Encoding{}.Shape(wire.Description{Resource: configMaps.GVR, ListKind: "ConfigMapList"})
	var lanes []*Reflector
	names := map[*Reflector]string{}
	add := func(name string, idle time.Duration, watches int) *Reflector {
		r := &Reflector{Cache: cache.NewLane(cache.Options{})}
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
		t.Errorf("%q", got)
	}
}

// A lane that is dropped ends, its watches too, and is filled again when there is memory for it. One that is read is
// not dropped for another.
func TestDroppedLane(t *testing.T) {
	memory := &someMemory{}
	memory.left.Store(1 << 30)
	inMemory(t, memory, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		stats := lane.Cache.Stats()
		if freed := r.lanes.DropUnread(1); freed != 0 {
			t.Errorf("%d bytes of a lane that was just read", freed)
		}
		elapse(unread + time.Second)
		_, _ = r.lanes.Keep(r.resource(), jsonwire.Encoding{})
		elapse(unread + time.Second)
		if freed := r.lanes.DropUnread(1); freed != 0 {
			t.Errorf("%d bytes of a lane to be kept", freed)
		}
		lane.kept.Store(false)
		if freed := r.lanes.DropUnread(1); freed != stats.Memory() || freed < 3_000_000 || len(r.lanes.All()) != 0 {
			t.Errorf("%d bytes of %d, %d lanes are left", freed, stats.Memory(), len(r.lanes.All()))
		}
		synctest.Wait()
		if _, err := lane.Cache.State(); !errors.Is(err, cache.ErrClosed) {
			t.Errorf("the lane goes on: %v", err)
		}
		if r.failsFor(t) != noMemoryPauseAtFirst {
			t.Error("it is filled again at once")
		}
		elapse(noMemoryPauseAtFirst)
		again := r.synced(t)
		if freed := r.lanes.DropColdest(1); freed < 3_000_000 || again.Resource != lane.Resource {
			t.Errorf("%d bytes of the coldest lane", freed)
		}
	})
}

// History is cut to its floor where that is asked for, and no further.
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
			t.Errorf("%d of %d bytes are left, %d were let go", left, before, freed)
		}
		if again := r.lanes.Shorten(1); again != 0 {
			t.Errorf("%d bytes below the floor", again)
		}
	})
}
