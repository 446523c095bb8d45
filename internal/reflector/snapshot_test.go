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

// looks is a context that ends when it was looked at so many times.
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

// TestSnapshotsThatTakeTooLong: what is not written in time is left out as a whole, and the log tells of which lanes
// there is none.
func TestSnapshotsThatTakeTooLong(t *testing.T) {
	// Two objects, the end of them, a bookmark, and before and after the disk.
	for most, want := range []int64{0, 0, 0, 0, 0, 0, 1} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			r := newRig(t, configMaps, Config{SnapshotDir: dir})
			r.isVersion("v1.37.1")
			r.isCluster("1")
			r.Put("ns/a", "1")
			r.Put("ns/b", "1")
			lane := r.synced(t)
			synctest.Wait() // the cluster has been asked for
			name, w := lane.snapshotName(), lane.writer
			ctx := &looks{t.Context(), most}
			if _, err := w.leave(ctx, dir); (err == nil) != (want == 1) {
				t.Errorf("after %d looks: %v", most, err)
			}
			files, err := os.ReadDir(dir)
			if err != nil || int64(len(files)) != want {
				t.Errorf("after %d looks there are %v, %v", most, files, err)
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
				t.Errorf("what a process was writing that was killed is there: %v", err)
			}
			said := r.logs.FilterMessage("Snapshots written").All()
			if len(said) != 1 {
				t.Fatalf("the log says %v", r.logs.All())
			}
			fields := said[0].ContextMap()
			delete(fields, "took")
			if diff := cmp.Diff(map[string]any{"written": int64(0), "notWritten": int64(1), "without": []any{name}}, fields); diff != "" {
				t.Error(diff)
			}
			if !r.logged(errNoTime.Error()) {
				t.Error("the log does not say why")
			}
		})
	}
}

// TestSnapshotOfALaneJustFilled: a process that ends before its lane knows which version it was listed from waits for
// the answer, and leaves a snapshot all the same.
func TestSnapshotOfALaneJustFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := newRig(t, configMaps, Config{SnapshotDir: dir})
		r.Script(versionPath, func(w http.ResponseWriter, request *http.Request) {
			if r.Asked(versionPath) > 1 { // since the list
				<-time.After(time.Second)
			}
			text(`{"gitVersion":"v1.37.1"}`)(w, request)
		})
		r.isCluster("1")
		r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(time.Millisecond) // between the two questions for the version
			r.Truth(w, request)
		})
		r.Put("ns/a", "1")
		lane := r.synced(t)
		if version, known := lane.writer.origin.Load().now(); known {
			t.Fatalf("the lane knows already that it was listed from %q", version)
		}
		if n, err := lane.writer.leave(t.Context(), dir); n != 1 || err != nil {
			t.Errorf("%d objects, %v", n, err)
		}
	})
}

// A snapshot is of the cluster that its lane was listed from, not of the one that the process met first, nor of the
// one that answers when the process ends.
func TestSnapshotIsOfItsLanesCluster(t *testing.T) {
	for name, c := range map[string]struct {
		listed, last func(*rig)
		goesOn       bool
	}{
		"listed again elsewhere": {
			func(r *rig) { r.isCluster("2"); r.DropWatches(); elapse(time.Minute) }, func(*rig) {}, true,
		},
		"unnoticed": {func(*rig) {}, func(r *rig) { r.isCluster("2") }, false},
		"not told at the end": {
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
					t.Errorf("got %d lanes that go on from a snapshot, want any: %t; %q", n, c.goesOn, r.leftAside())
				}
			})
		})
	}
}

// A lane whose cluster is not known leaves no snapshot, and the log says why.
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
