package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

// backup is a copy of etcd's data, with the content of its objects.
type backup struct {
	dir   string
	known func(*kind) map[version][]byte
}

// takeBackup copies etcd's data. etcd must not run.
func (s *soak) takeBackup(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "etcd")
	if err := os.CopyFS(dir, os.DirFS(s.etcd.dir)); err != nil {
		t.Fatal(err)
	}
	if s.backup.dir != "" {
		_ = os.RemoveAll(s.backup.dir)
	}
	s.backup = backup{dir: dir, known: s.truth.known()}
}

// putBack replaces etcd's data by the backup. etcd must not run.
func (s *soak) putBack(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(s.etcd.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(s.etcd.dir, os.DirFS(s.backup.dir)); err != nil {
		t.Fatal(err)
	}
	// etcd requires this mode.
	if err := os.Chmod(s.etcd.dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// lost is the minimum of versions that a restored backup lacks. It is more than kube-apiserver itself writes until all
// watchers have noticed the restore.
const lost = 200

// restored restores etcd from a backup, so that versions have new meanings. Watchers of a restarted kube-apiserver
// itself would resume from a version that it has not reached, and miss the events until then. This can be detected only
// while versions are below the old ones, so writers wait until all watchers have noticed. A client needs these
// guarantees:
//
//   - An open watch sends no event of the new world. It ends, with a 410 or cleanly, and a list then returns the new
//     world's state.
//   - A consistent read returns the new world's state, or fails.
//   - In the new world all guarantees are valid.
func restored(t *testing.T, s *soak, lasts time.Duration, draw *rand.Rand) {
	if s.backup.dir == "" {
		s.do(t, "etcd", "kill")
		s.takeBackup(t)
		s.do(t, "etcd", "start")
		s.recover(t)
	}
	off := s.quiet()
	defer off()
	s.moveOn(t)
	s.patient.Store(true) // only open watches notice the restore
	s.chapter(t)
	s.await(t, s.marks)
	s.patient.Store(false)
	old := s.world.Load()
	s.mu.Lock()
	s.before = s.marks
	s.world.Add(1)
	s.mu.Unlock()
	s.do(t, "kube-apiserver", "kill")
	s.truth.complete(t)
	s.do(t, "etcd", "kill")
	s.putBack(t)
	last(lasts)
	s.do(t, "etcd", "start")
	s.beginWorld()
	models := s.models(t)
	s.truth.begin(t, s.backup.known)
	for _, w := range s.writers {
		w.forget()
	}
	s.do(t, "kube-apiserver", "start")
	unread := draw.IntN(2) > 0
	if unread {
		s.log("no reads until all watches have ended")
	} else {
		s.readsRestored(t)
	}
	for _, w := range s.watchers {
		testkit.Eventually(t, fmt.Sprintf("%s: it notices the restored store", w), func() error {
			if rv, world, open := w.reached(); world != int(s.world.Load()) || !open {
				return fmt.Errorf("it is at %d of world %d, where %d was reached before; its watch is open: %t", rv, world, s.marks[w.kind], open)
			}
			return nil
		})
	}
	if unread {
		s.readsRestored(t)
	}
	s.judgeOld(t, int(old), models)
}

// beginWorld separates the lost windows of two worlds. The facade has no upstream meanwhile.
func (s *soak) beginWorld() {
	for _, k := range s.kinds {
		gaps, _ := s.facade.LostWindows(k.GVR)
		s.bridgedBefore[k] = append(s.bridgedBefore[k], len(gaps["json"]))
	}
}

// moveOn writes versions that the backup lacks. The caller keeps quiet.
func (s *soak) moveOn(t *testing.T) {
	t.Helper()
	for i := range lost {
		w := s.writers[s.kinds[i%len(s.kinds)]]
		w.put(t.Context(), w.kind.name(2), "a", "")
	}
}

// models returns the models of the world that ends.
func (s *soak) models(t *testing.T) map[*kind]*testkit.Model {
	t.Helper()
	models := map[*kind]*testkit.Model{}
	for _, k := range s.kinds {
		var err error
		if models[k], err = s.truth.model(k); err != nil {
			t.Fatal(err)
		}
	}
	return models
}

// judgeOld checks the events that clients received after the last chapter of the old world.
func (s *soak) judgeOld(t *testing.T, old int, models map[*kind]*testkit.Model) {
	t.Helper()
	for _, w := range s.watchers {
		over, _ := w.collect(old)
		for _, r := range over {
			if err := testkit.CheckReplayed(r.Recording, models[w.kind], s.bridged(w.kind, old)...); err != nil {
				t.Errorf("%s, when the store was set back: %v", w, err)
			}
		}
	}
}

// readsRestored sends consistent reads as soon as kube-apiserver runs. Answers must contain nothing of the old world.
func (s *soak) readsRestored(t *testing.T) {
	t.Helper()
	for _, k := range s.kinds {
		q := testkit.Question{Path: k.collection("timeout=30s")}
		var answer *testkit.Answer
		testkit.Eventually(t, "the facade answers "+q.Path, func() error {
			var ok bool
			if answer, _, ok = s.ask(t.Context(), "the test", q); !ok {
				return errors.New("it does not answer")
			}
			return nil
		})
		s.truth.complete(t)
		model, err := s.truth.model(k)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Code != http.StatusOK || versionOf(answer.Body) >= s.marks[k] {
			t.Errorf("%s: got a consistent list at %d, want below %d after the restore", k.GVR.Resource, versionOf(answer.Body), s.marks[k])
		}
		if err := testkit.CheckRead(q, answer, 0, model); err != nil {
			t.Errorf("after the restore: %v", err)
		}
	}
}
