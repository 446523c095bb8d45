package reflector

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

// segmentOf returns the path of the only segment of the only lane.
func segmentOf(t *testing.T, config Config) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(config.Journal.Dir, "lanes", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got files %v, error %v, want one segment", files, err)
	}
	return files[0]
}

// damage changes a byte of an object in the checkpoint, which is detected only when the content is read.
func damage(t *testing.T, config Config) {
	t.Helper()
	damageFirst(t, config, "ns/a")
}

// damageFirst changes a byte of the first record with a key.
func damageFirst(t *testing.T, config Config, key string) {
	t.Helper()
	file := segmentOf(t, config)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(content, []byte(key))
	if at < 0 {
		t.Fatal("got no object in the segment")
	}
	content[at] ^= 1
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// notUsed returns why the journal was not used.
func (r *rig) notUsed() (all []string) {
	for _, entry := range r.logs.FilterMessage("Journal of the lane not used").All() {
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

// TestJournalIsReadOnce checks that a refused journal is not read again, neither after a failed list nor after the
// lane was stopped and started again.
func TestJournalIsReadOnce(t *testing.T) {
	inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
		damage(t, config)
		config.Idle = time.Minute
		r.start(t, config)
		r.listsLate(t, time.Minute)
		until(t, time.Second, "the lane is stopped", func() bool { return len(r.lanes.All()) == 0 })
		r.synced(t)
		if reasons := r.notUsed(); len(reasons) != 1 {
			t.Errorf("got %d refusals of the journal, want 1: %q", len(reasons), reasons)
		}
	})
}

// TestJournalWaitsForTheUpstream checks that a journal is tried again after the upstream did not respond.
func TestJournalWaitsForTheUpstream(t *testing.T) {
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
		if n := r.logs.FilterMessage("Lane restored from the journal").Len(); n != 1 {
			t.Errorf("got %d lanes restored from the journal, want 1: %q", n, r.notUsed())
		}
	})
}

// TestCheapJournalChecksComeFirst checks that the cheap checks are made before the content is read.
func TestCheapJournalChecksComeFirst(t *testing.T) {
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
