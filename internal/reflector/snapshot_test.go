package reflector

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
)

// looks is a context that ends when it was checked that many times.
type looks struct {
	context.Context
	left int
}

// Err implements context.Context.
func (l *looks) Err() error {
	if l.left--; l.left < 0 {
		return errNoTime
	}
	return nil
}

// Value implements context.Context: the context's own cause is its end.
func (l *looks) Value(any) any { return nil }

// TestLateSnapshotIsNotWritten checks that a snapshot that is not complete in time is not written, and that the log
// names its lane.
func TestLateSnapshotIsNotWritten(t *testing.T) {
	// Two objects, their end, a bookmark, and before and after the sync.
	for most, want := range []int64{0, 0, 0, 0, 0, 0, 1} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			r := newRig(t, configMaps, Config{SnapshotDir: dir})
			r.isVersion("v1.37.1")
			r.isCluster("1")
			r.Put("ns/a", "1")
			r.Put("ns/b", "1")
			lane := r.synced(t)
			synctest.Wait() // the cluster's UID was read
			name := lane.snapshotName()
			ctx := &looks{t.Context(), most}
			if _, err := lane.leave(ctx, dir); (err == nil) != (want == 1) {
				t.Errorf("after %d checks: got %v", most, err)
			}
			files, err := os.ReadDir(dir)
			if err != nil || int64(len(files)) != want {
				t.Errorf("after %d checks: got files %v, %v", most, files, err)
			}
			if want == 1 {
				return
			}
			killed := filepath.Join(dir, "."+name+".123")
			if err := os.WriteFile(killed, []byte("listfacade snapshot 1\n..."), 0o600); err != nil {
				t.Fatal(err)
			}
			over, cancel := context.WithCancelCause(t.Context())
			cancel(errNoTime)
			r.lanes.leave(over, map[laneKey]*Reflector{lane.key(): lane})
			if _, err := os.Stat(killed); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got a partial snapshot of an earlier process: %v", err)
			}
			lines := r.logs.FilterMessage("Snapshots written").All()
			if len(lines) != 1 {
				t.Fatalf("got the log %v", r.logs.All())
			}
			fields := lines[0].ContextMap()
			delete(fields, "took")
			if diff := cmp.Diff(map[string]any{"written": int64(0), "notWritten": int64(1), "without": []any{name}}, fields); diff != "" {
				t.Error(diff)
			}
			if !r.logged(errNoTime.Error()) {
				t.Error("got no reason in the log")
			}
		})
	}
}

// TestSnapshotOfALaneJustFilled checks that a process that stops before the version of its lane's list is known waits
// for it, and then writes the snapshot.
func TestSnapshotOfALaneJustFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := newRig(t, configMaps, Config{SnapshotDir: dir})
		r.Script(versionPath, func(w http.ResponseWriter, request *http.Request) {
			if r.Asked(versionPath) > 1 { // after the list
				<-time.After(time.Second)
			}
			text(`{"gitVersion":"v1.37.1"}`)(w, request)
		})
		r.isCluster("1")
		r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(time.Millisecond) // between the two requests for the version
			r.Truth(w, request)
		})
		r.Put("ns/a", "1")
		lane := r.synced(t)
		if version, known := lane.origin.Load().now(); known {
			t.Fatalf("got version %q already, want it unknown", version)
		}
		if n, err := lane.leave(t.Context(), dir); n != 1 || err != nil {
			t.Errorf("got %d objects, %v", n, err)
		}
	})
}

// A snapshot contains the cluster from which its lane was listed. It is neither the first cluster of the process nor
// that at its end.
func TestSnapshotIsOfItsLanesCluster(t *testing.T) {
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
			synctest.Test(t, func(t *testing.T) {
				config := Config{SnapshotDir: t.TempDir()}
				r := newRig(t, configMaps, config)
				r.isVersion("v1.37.1")
				r.isCluster("1")
				r.Put("ns/a", "1")
				r.synced(t)
				elapse(time.Minute)
				c.listed(r)
				c.last(r)
				r.stop()
				r.start(t, config)
				r.synced(t)
				if n := r.logs.FilterMessage("Lane restored from snapshot").Len(); (n > 0) != c.goesOn {
					t.Errorf("got %d lanes restored from a snapshot, want any: %t; %q", n, c.goesOn, r.notUsed())
				}
			})
		})
	}
}

// A lane of an unknown cluster writes no snapshot, and the log has the reason.
func TestSnapshotOfAnUnknownCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{SnapshotDir: t.TempDir()})
		r.isVersion("v1.37.1")
		r.tellsNoCluster()
		r.Put("ns/a", "1")
		r.synced(t)
		elapse(time.Minute)
		r.stop()
		if !r.logged(errNoAnswer.Error()) {
			t.Errorf("got the log %v, want %v", r.logs.All(), errNoAnswer)
		}
	})
}
