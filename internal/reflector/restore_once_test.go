package reflector

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

// damage changes a byte in the middle of the only snapshot, which only Open detects.
func damage(t *testing.T, config Config) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(config.SnapshotDir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-60] ^= 1
	if err := os.WriteFile(files[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// notUsed returns why snapshots were not used.
func (r *rig) notUsed() (all []string) {
	for _, entry := range r.logs.FilterMessage("Snapshot not used").All() {
		all = append(all, fmt.Sprint(entry.ContextMap()["error"]))
	}
	return all
}

// listsLate has lists fail for a while, after which the lane is filled.
func (r *rig) listsLate(t *testing.T, d time.Duration) {
	t.Helper()
	for _, ask := range []testkit.Ask{testkit.AskList, testkit.AskStreaming} {
		r.Script(ask, testkit.Refuse(http.StatusInternalServerError, "InternalError"))
	}
	r.lane(t)
	elapse(d)
	for _, ask := range []testkit.Ask{testkit.AskList, testkit.AskStreaming} {
		r.Script(ask, nil)
	}
	r.filled(t)
}

// filled waits until the lane has a State, however often it has failed before.
func (r *rig) filled(t *testing.T) {
	t.Helper()
	until(t, time.Second, "the lane is filled", func() bool { return isFilled(r.lane(t)) })
}

func isFilled(lane *Reflector) bool {
	_, err := lane.Cache.State()
	return err == nil
}

// TestSnapshotIsReadOnce checks that a refused snapshot is not read again, neither after a failed list nor after the
// lane was stopped and started again.
func TestSnapshotIsReadOnce(t *testing.T) {
	inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
		damage(t, config)
		config.Idle = time.Minute
		r.start(t, config)
		r.listsLate(t, time.Minute)
		until(t, time.Second, "the lane is stopped", func() bool { return len(r.lanes.All()) == 0 })
		r.synced(t)
		if reasons := r.notUsed(); len(reasons) != 1 {
			t.Errorf("got %d refusals of the snapshot, want 1: %q", len(reasons), reasons)
		}
	})
}

// TestSnapshotWaitsForTheUpstream checks that a snapshot is tried again after the upstream did not respond.
func TestSnapshotWaitsForTheUpstream(t *testing.T) {
	inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
		r.Script("/api/v1/namespaces/kube-system", testkit.Refuse(http.StatusInternalServerError, "InternalError"))
		r.start(t, config)
		for _, ask := range []testkit.Ask{testkit.AskList, testkit.AskStreaming} {
			r.Script(ask, testkit.Refuse(http.StatusInternalServerError, "InternalError"))
		}
		r.lane(t)
		elapse(time.Minute)
		r.isCluster("1")
		r.filled(t)
		if n := r.logs.FilterMessage("Lane restored from snapshot").Len(); n != 1 {
			t.Errorf("got %d lanes restored from a snapshot, want 1: %q", n, r.notUsed())
		}
	})
}

// TestCheapSnapshotChecksComeFirst checks that the cheap checks are made before the content is read.
func TestCheapSnapshotChecksComeFirst(t *testing.T) {
	for name, c := range map[string]struct {
		refuse func(*rig)
		want   string
	}{
		"another cluster": {func(r *rig) { r.isCluster("2") }, errUnchecked.Error()},
		"a backup":        {func(r *rig) { r.Restore(2) }, errRestored.Error()},
		"a watch that is expired": {func(r *rig) {
			r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		}, "410"},
	} {
		t.Run(name, func(t *testing.T) {
			inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
				damage(t, config)
				c.refuse(r)
				r.start(t, config)
				r.listsLate(t, time.Minute)
				reasons := r.notUsed()
				if len(reasons) != 1 || !strings.Contains(reasons[0], c.want) {
					t.Errorf("got the refusals %q, want one of %q", reasons, c.want)
				}
			})
		})
	}
}
