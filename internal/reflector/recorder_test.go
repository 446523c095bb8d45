package reflector

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// whileRecording runs a test with a lane of config maps that is written to a journal.
func whileRecording(t *testing.T, change func(*Config), test func(t *testing.T, r *rig, config Config)) {
	t.Helper()
	config := Config{Journal: Journal{Dir: filepath.Join(t.TempDir(), "journal")}, Packing: cache.Packing{From: 1}}
	if change != nil {
		change(&config)
	}
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, config)
		r.isVersion("v1.37.1")
		r.isCluster("1")
		r.Put("ns/a", "1") // 2
		r.synced(t)
		elapse(2 * recordEvery)
		test(t, r, config)
	})
}

// written returns the records of all segments of a lane: "-- BASE", or "== BASE" if the segment continues the one
// before, then "KIND key@rv". It fails if a segment is damaged.
func written(t *testing.T, config Config) []string {
	t.Helper()
	all, err := journal.Segments(config.Journal.Dir, "configmaps..v1.json")
	if err != nil {
		t.Fatal(err)
	}
	names := map[journal.Kind]string{journal.Object: "has", journal.Upsert: "upsert", journal.Delete: "delete"}
	lines := []string{}
	for i := range all {
		begin := "--"
		if i > 0 && all[i].Continues(&all[i-1]) {
			begin = "=="
		}
		lines = append(lines, fmt.Sprintf("%s %d", begin, all[i].RV))
		for record, err := range all[i].Records(t.Context()) {
			switch {
			case err != nil:
				t.Fatal(err)
			case record.Kind == journal.Progress:
				lines = append(lines, fmt.Sprintf("progress %d", record.RV))
			case record.Kind != journal.Dictionary:
				lines = append(lines, fmt.Sprintf("%s %s@%d", names[record.Kind], record.Key, record.RV))
			}
		}
	}
	return lines
}

func wantWritten(t *testing.T, config Config, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, written(t, config)); diff != "" {
		t.Errorf("journal differs (-want +got):\n%s", diff)
	}
}

// TestEventsAreWritten: the journal has the lane's objects and each event after them, some seconds later. The next
// process continues it without a hole.
func TestEventsAreWritten(t *testing.T) {
	whileRecording(t, nil, func(t *testing.T, r *rig, config Config) {
		wantWritten(t, config, "-- 2", "has ns/a@2")
		r.Put("ns/b", "1")
		r.Delete("ns/a")
		elapse(2 * recordEvery)
		want := []string{"-- 2", "has ns/a@2", "upsert ns/b@3", "delete ns/a@4"}
		wantWritten(t, config, want...)
		r.stop()
		r.Put("ns/c", "1") // no process runs
		r.start(t, config)
		r.synced(t)
		r.Put("ns/b", "2")
		elapse(2 * recordEvery)
		wantWritten(t, config, append(want, "== 4", "has ns/b@3", "upsert ns/c@5", "upsert ns/b@6")...)
		if len(r.holes.reasons) > 0 {
			t.Errorf("got holes %v, want none", r.holes.reasons)
		}
	})
}

// TestLastEventsAreWritten: a process that ends writes what is not packed yet.
func TestLastEventsAreWritten(t *testing.T) {
	whileRecording(t, func(c *Config) { c.Packing.After = time.Hour }, func(t *testing.T, r *rig, config Config) {
		r.Put("ns/b", "1")
		elapse(time.Minute)
		wantWritten(t, config, "-- 2", "has ns/a@2")
		r.stop()
		wantWritten(t, config, "-- 2", "has ns/a@2", "upsert ns/b@3")
	})
}

// TestRestoredLaneIsWrittenAtOnce: the first visit of a restored lane writes all events since the end of its journal,
// although they are many and not packed. A process that is killed soon therefore does not leave them to the next one.
func TestRestoredLaneIsWrittenAtOnce(t *testing.T) {
	whileRecording(t, func(c *Config) { c.Packing.After = time.Hour }, func(t *testing.T, r *rig, config Config) {
		r.stop()
		want := []string{"-- 2", "has ns/a@2", "== 2", "has ns/a@2"}
		for i := range 2 * fewEvents {
			want = append(want, fmt.Sprintf("upsert ns/b@%d", r.Put("ns/b", fmt.Sprint(i))))
		}
		r.start(t, config)
		r.synced(t)
		elapse(2 * recordEvery)
		wantWritten(t, config, want...)
	})
}

// TestSteadyEventsAreWritten: with the packing of production, each event is written some seconds later, although others
// follow it. The reported lag is that of the oldest event that is not written.
func TestSteadyEventsAreWritten(t *testing.T) {
	whileRecording(t, func(c *Config) { c.Packing.After = cache.DefaultPacking.After }, func(t *testing.T, r *rig, config Config) {
		for i := range 30 {
			r.Put("ns/a", fmt.Sprint(i))
			elapse(4 * time.Second)
		}
		if lines := written(t, config); len(lines) < 30 {
			t.Errorf("got %d records after 30 events, want all but the last ones: %v", len(lines), lines)
		}
		if status, _ := r.lanes.JournalStatus(); status.Lag > 2*cache.DefaultPacking.After {
			t.Errorf("got a lag of %v, want seconds", status.Lag)
		}
	})
}

// TestLagIsThatOfTheOldestEvent: the lag grows while an event is not written, although no write fails.
func TestLagIsThatOfTheOldestEvent(t *testing.T) {
	whileRecording(t, func(c *Config) { c.Packing.After = time.Hour }, func(t *testing.T, r *rig, _ Config) {
		elapse(time.Minute)
		if status, _ := r.lanes.JournalStatus(); status.Lag > 2*recordEvery {
			t.Errorf("got a lag of %v without events, want none", status.Lag)
		}
		r.Put("ns/b", "1")
		elapse(5 * time.Minute)
		if status, _ := r.lanes.JournalStatus(); status.Lag < 4*time.Minute || r.failed.Load() > 0 {
			t.Errorf("got a lag of %v and %d failures, want minutes and none", status.Lag, r.failed.Load())
		}
	})
}

// TestEndedLaneIsWritten: the last events of a lane that ends are written, although they are not packed. If that fails,
// a hole is counted.
func TestEndedLaneIsWritten(t *testing.T) {
	for _, fails := range []bool{false, true} {
		whileRecording(t, func(c *Config) { c.Idle, c.Packing.After = time.Minute, time.Hour }, func(t *testing.T, r *rig, config Config) {
			want, holes := []string{"-- 2", "has ns/a@2", "upsert ns/b@3"}, []string(nil)
			r.Put("ns/b", "1")
			elapse(2 * recordEvery)
			if fails {
				r.lanes.recorder.next.Store(time.Now().Add(time.Hour).UnixNano())      // as after an error
				if err := r.lanes.recorder.all[r.lane(t)].writer.Close(); err != nil { // so that nothing can be appended
					t.Fatal(err)
				}
				want, holes = want[:2], []string{holeEnded}
			}
			until(t, time.Second, "the lane is stopped", func() bool { return len(r.lanes.All()) == 0 })
			r.lanes.recorder.next.Store(0)
			elapse(2 * recordEvery)
			wantWritten(t, config, want...)
			if diff := cmp.Diff(holes, r.holes.reasons); diff != "" {
				t.Errorf("holes differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestQuietLaneIsWritten: the version of a lane without events is written now and then, so that it resumes from a
// recent version.
func TestQuietLaneIsWritten(t *testing.T) {
	whileRecording(t, nil, func(t *testing.T, r *rig, config Config) {
		for range 30 {
			r.Elsewhere()
			r.Bookmark()
			elapse(2 * recordEvery)
		}
		elapse(recordProgress)
		lines := written(t, config)
		if n := len(lines); n < 6 || n > 9 || lines[n-1] != fmt.Sprint("progress ", r.RV()) {
			t.Errorf("got %v, want few records of progress, the last one at %d", lines, r.RV())
		}
	})
}

// TestRelistIsAHole: after a relist that is not replayed, the journal begins again with all objects.
func TestRelistIsAHole(t *testing.T) {
	whileRecording(t, nil, func(t *testing.T, r *rig, config Config) {
		r.isVersion("v1.38.0")
		r.DropWatches()
		elapse(time.Minute)
		wantWritten(t, config, "-- 2", "has ns/a@2", "-- 2", "has ns/a@2")
		if diff := cmp.Diff([]string{holeRelisted}, r.holes.reasons); diff != "" {
			t.Errorf("holes differ (-want +got):\n%s", diff)
		}
	})
}

// TestSlowDiskIsAHole: events that history has dropped before they were written leave a hole. Meanwhile, readers and
// watches are not affected, and the lag is reported.
func TestSlowDiskIsAHole(t *testing.T) {
	whileRecording(t, func(c *Config) { c.Window, c.WindowBytes = time.Second, 1 }, func(t *testing.T, r *rig, config Config) {
		r.lanes.recorder.next.Store(time.Now().Add(time.Hour).UnixNano()) // as after an error
		for i := range 400 {
			r.Put("ns/a", fmt.Sprint(i))
			elapse(time.Second)
		}
		lag, configured := r.lanes.JournalStatus()
		if !configured || lag.Lag < 300*time.Second {
			t.Errorf("got %+v, want a lag of minutes", lag)
		}
		if rv := stateOf(t, r.lane(t)).RV(); rv != 402 {
			t.Errorf("got resourceVersion %d, want 402", rv)
		}
		r.lanes.recorder.next.Store(0)
		elapse(2 * recordEvery)
		wantWritten(t, config, "-- 2", "has ns/a@2", "-- 402", "has ns/a@402")
		if diff := cmp.Diff([]string{holeBehind}, r.holes.reasons); diff != "" {
			t.Errorf("holes differ (-want +got):\n%s", diff)
		}
		if lag, _ := r.lanes.JournalStatus(); lag.Lag > 2*recordEvery {
			t.Errorf("got a lag of %v, want none", lag.Lag)
		}
	})
}

// TestJournalContinuesAfterAnError: after a failed attempt the same events are written, in order, without a hole.
func TestJournalContinuesAfterAnError(t *testing.T) {
	whileRecording(t, func(c *Config) { c.Journal.MaxAge = time.Hour }, func(t *testing.T, r *rig, config Config) {
		lanes := filepath.Join(config.Journal.Dir, "lanes", "configmaps..v1.json")
		elapse(time.Hour)
		r.Put("ns/b", "1")
		if err := os.Rename(lanes, lanes+".away"); err != nil { // the next segment cannot be created
			t.Fatal(err)
		}
		if err := os.WriteFile(lanes, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		elapse(5 * time.Second)
		if r.failed.Load() == 0 {
			t.Fatal("got no failed attempt")
		}
		if err := errors.Join(os.Remove(lanes), os.Rename(lanes+".away", lanes)); err != nil {
			t.Fatal(err)
		}
		r.Put("ns/c", "1")
		elapse(2 * recordWait)
		wantWritten(t, config, "-- 2", "has ns/a@2", "upsert ns/b@3", "upsert ns/c@4", "== 4", "has ns/a@2", "has ns/b@3", "has ns/c@4")
		if len(r.holes.reasons) > 0 {
			t.Errorf("got holes %v, want none", r.holes.reasons)
		}
	})
}

// TestLaneThatCannotBeWrittenDelaysNoOther: while a lane is in a long pause after errors, others are written. The
// reported lag is that of the lane that fails.
func TestLaneThatCannotBeWrittenDelaysNoOther(t *testing.T) {
	whileRecording(t, nil, func(t *testing.T, r *rig, config Config) {
		broken := filepath.Join(config.Journal.Dir, "lanes", "configmaps..v1.other")
		if err := os.WriteFile(broken, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.lanes.Get(r.resource(), namedEncoding{jsonwire.Encoding{}, "other"}); err != nil {
			t.Fatal(err)
		}
		elapse(3 * recordWait / 2) // the middle of a pause
		if n := r.failed.Load(); n < 3 || n > 10 {
			t.Errorf("got %d failed attempts, want few", n)
		}
		r.Put("ns/b", "1")
		elapse(2 * recordEvery)
		wantWritten(t, config, "-- 2", "has ns/a@2", "upsert ns/b@3")
		if status, _ := r.lanes.JournalStatus(); status.Lag < recordWait {
			t.Errorf("got a lag of %v, want that of the lane that fails", status.Lag)
		}
	})
}

// TestLongNamesAreWritten: lanes whose names are too long for a file are written, to different directories.
func TestLongNamesAreWritten(t *testing.T) {
	kind := configMaps
	kind.GVR.Group = strings.Repeat("group.", 40) + "io"
	config := Config{Journal: Journal{Dir: filepath.Join(t.TempDir(), "journal")}}
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, kind, config)
		r.isVersion("v1.37.1")
		r.isCluster("1")
		r.Put("ns/a", "1")
		r.synced(t)
		if _, err := r.lanes.Get(r.resource(), namedEncoding{jsonwire.Encoding{}, "other"}); err != nil {
			t.Fatal(err)
		}
		elapse(time.Minute)
		if lanes, err := journal.Lanes(config.Journal.Dir); len(lanes) != 2 || err != nil || r.failed.Load() > 0 {
			t.Errorf("got lanes %v, error %v and %d failures, want two lanes", lanes, err, r.failed.Load())
		}
	})
}

// TestSecondProcessWritesNothing: while another process writes the journal, a process neither writes nor restores from
// it. Afterwards it writes.
func TestSecondProcessWritesNothing(t *testing.T) {
	whileRecording(t, nil, func(t *testing.T, r *rig, config Config) {
		first, other := r.lanes, r.stop
		r.start(t, config)
		r.synced(t)
		if n := r.logs.FilterMessage("Lane restored from the journal").Len(); n != 0 || r.failed.Load() != 1 {
			t.Errorf("got %d lanes restored and %d failures, want 0 and 1", n, r.failed.Load())
		}
		if status, configured := r.lanes.JournalStatus(); status.Open || !configured || r.lanes.Journal() != nil {
			t.Errorf("got %+v, %t for the second process, want a journal that is not open", status, configured)
		}
		if first.Journal() == nil {
			t.Error("got no journal of the first process")
		}
		elapse(time.Minute)
		wantWritten(t, config, "-- 2", "has ns/a@2")
		other()
		r.Put("ns/b", "1")
		elapse(time.Minute)
		wantWritten(t, config, "-- 2", "has ns/a@2", "-- 3", "has ns/a@2", "has ns/b@3")
	})
}

// TestLanesThatAreNotWritten: nothing is written of lanes that could not be restored, and nothing of Secrets.
func TestLanesThatAreNotWritten(t *testing.T) {
	secrets := configMaps
	secrets.GVR.Resource, secrets.Kind = "secrets", "Secret"
	for name, c := range map[string]struct {
		kind    testkit.FakeKind
		prepare func(*rig)
		fails   bool
	}{
		"secrets":                 {secrets, func(r *rig) { r.isCluster("1") }, false},
		"events":                  {events, func(r *rig) { r.isCluster("1") }, false},
		"without a known cluster": {configMaps, func(r *rig) { r.tellsNoCluster() }, true},
		"without a known definition": {widgets, func(r *rig) {
			r.isCluster("1")
			r.Script(testkit.Ask(definitionOf(r.resource())), testkit.Refuse(http.StatusForbidden, "Forbidden"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{Journal: Journal{Dir: filepath.Join(t.TempDir(), "journal")}}
			bubble.Test(t, func(t *testing.T) {
				r := newRig(t, c.kind, config)
				r.isVersion("v1.37.1")
				c.prepare(r)
				r.Put("ns/a", "1")
				r.synced(t)
				elapse(time.Minute)
				r.stop()
				lanes, err := journal.Lanes(config.Journal.Dir)
				if len(lanes) > 0 || err != nil || (r.failed.Load() > 0) != c.fails {
					t.Errorf("got lanes %v, error %v and %d failures, want no lanes", lanes, err, r.failed.Load())
				}
				if c.fails && !r.logged(errNoAnswer.Error()) {
					t.Errorf("got the log %v, want %v", r.logs.All(), errNoAnswer)
				}
			})
		})
	}
}

// TestJournalIsOfItsLanesCluster: a segment contains the cluster from which its lane was listed. It is neither the
// first cluster of the process nor that at its end.
func TestJournalIsOfItsLanesCluster(t *testing.T) {
	for name, c := range map[string]struct {
		listed, last func(*rig)
		goesOn       bool
	}{
		"listed again elsewhere": {
			func(r *rig) { r.isCluster("2"); r.DropWatches(); elapse(time.Minute) }, func(*rig) {}, true,
		},
		"unnoticed": {func(*rig) {}, func(r *rig) { r.isCluster("2") }, false},
		"unknown at the end": {
			func(*rig) {}, func(r *rig) { r.tellsNoCluster(); r.stop(); r.isCluster("1") }, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			whileRecording(t, nil, func(t *testing.T, r *rig, config Config) {
				elapse(time.Minute)
				c.listed(r)
				c.last(r)
				r.stop()
				r.start(t, config)
				r.synced(t)
				if n := r.logs.FilterMessage("Lane restored from the journal").Len(); (n > 0) != c.goesOn {
					t.Errorf("got %d lanes restored from the journal, want any: %t; %q", n, c.goesOn, r.notUsed())
				}
			})
		})
	}
}

// TestManyEventsAreWrittenTogether: many events are collected for a while, few are written at once. If the lag of the
// process matters, at its end, all are written.
func TestManyEventsAreWrittenTogether(t *testing.T) {
	whileRecording(t, func(c *Config) { c.Packing = cache.Packing{} }, func(t *testing.T, r *rig, config Config) {
		for i := range 3 * fewEvents {
			r.Put("ns/a", fmt.Sprint(i))
		}
		elapse(recordBatch - 2*recordEvery)
		wantWritten(t, config, "-- 2", "has ns/a@2")
		elapse(4 * recordEvery)
		if n := len(written(t, config)); n != 2+3*fewEvents {
			t.Errorf("got %d records, want %d", n, 2+3*fewEvents)
		}
		for i := range 3 * fewEvents {
			r.Put("ns/a", fmt.Sprint(i))
		}
		elapse(2 * recordEvery)
		if n := len(written(t, config)); n != 2+3*fewEvents {
			t.Errorf("got %d records, want %d", n, 2+3*fewEvents)
		}
		r.stop()
		if n := len(written(t, config)); n != 2+6*fewEvents {
			t.Errorf("got %d records at the end, want %d", n, 2+6*fewEvents)
		}
	})
}

// TestWrittenObjectsAreNotKept: the memory for events that were written refers to no object, also if they were written
// in several parts.
func TestWrittenObjectsAreNotKept(t *testing.T) {
	whileRecording(t, func(c *Config) { c.Packing = cache.Packing{} }, func(t *testing.T, r *rig, _ Config) {
		for i := range recordedAtOnce + 1 {
			r.Put("ns/a", fmt.Sprint(i))
		}
		elapse(2 * recordEvery)
		r.stop()
		events := r.lanes.recorder.scratch.events
		events = events[:cap(events)]
		for i := range events {
			if events[i].Object != nil {
				t.Fatalf("got the object of event %d of %d, want none", i, len(events))
			}
		}
		if len(events) < recordedAtOnce {
			t.Errorf("got room for %d events, want at least %d", len(events), recordedAtOnce)
		}
	})
}

// TestFullDisk: a quota that is used up makes room as a full disk does.
func TestFullDisk(t *testing.T) {
	for err, full := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EIO: false} {
		if got := isFull(errors.Join(errNoAnswer, &os.PathError{Err: err})); got != full {
			t.Errorf("%v: got full=%t, want %t", err, got, full)
		}
	}
}
