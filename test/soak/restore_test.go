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

// backup is a copy of etcd's data, and what the objects in it look like.
type backup struct {
	dir   string
	known func(*kind) map[version][]byte
}

// takeBackup copies etcd's data; etcd does not run.
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

// putBack replaces etcd's data by the backup; etcd does not run.
func (s *soak) putBack(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(s.etcd.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(s.etcd.dir, os.DirFS(s.backup.dir)); err != nil {
		t.Fatal(err)
	}
	// etcd wants it so.
	if err := os.Chmod(s.etcd.dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// lost is how many versions at least a restored backup lacks: more than kube-apiserver writes by itself until everybody
// has heard of it.
const lost = 200

// restored sets etcd back. Versions then mean something else than before, for those who watch a kube-apiserver, too:
// one that was restarted lets them go on from a version that it has not reached, and they miss what it does until then.
// Nobody can tell, unless versions are still below those of before; so writers wait until everybody has heard. What
// holds then, and what a client that follows the protocol needs, is this:
//
//   - a watch that is open tells nothing of the new world: it ends, with a 410 or without a word, and whoever lists
//     then gets the new world's state;
//   - a read of the most recent state is answered with the new world's, or not at all;
//   - in the new world, all guarantees hold from there on.
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
	s.patient.Store(true) // who is not watching at the moment cannot be told
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
		s.log("nobody reads until all watches have ended")
	} else {
		s.readsRestored(t)
	}
	for _, w := range s.watchers {
		testkit.Eventually(t, fmt.Sprintf("%s: it hears of the restored store", w), func() error {
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

// beginWorld keeps the gaps of worlds apart. The facade has no upstream meanwhile.
func (s *soak) beginWorld() {
	for _, k := range s.kinds {
		gaps, _ := s.facade.LostWindows(k.GVR)
		s.bridgedBefore[k] = append(s.bridgedBefore[k], len(gaps["json"]))
	}
}

// moveOn writes what the backup lacks. The caller keeps quiet.
func (s *soak) moveOn(t *testing.T) {
	t.Helper()
	for i := range lost {
		w := s.writers[s.kinds[i%len(s.kinds)]]
		w.put(t.Context(), w.kind.name(2), "a", "")
	}
}

// models are of the world that ends.
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

// judgeOld holds what was told after the last chapter of the old world against that: next to nothing happened in it.
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

// readsRestored reads what is most recent as soon as kube-apiserver is there: nothing of the world that is gone may be
// in it.
func (s *soak) readsRestored(t *testing.T) {
	t.Helper()
	for _, k := range s.kinds {
		q := testkit.Question{Path: k.collection("timeout=30s")}
		var answer *testkit.Answer
		testkit.Eventually(t, "the facade answers "+q.Path, func() error {
			var ok bool
			if answer, _, ok = s.ask(t.Context(), "the test", q); !ok {
				return errors.New("it does not")
			}
			return nil
		})
		s.truth.complete(t)
		model, err := s.truth.model(k)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Code != http.StatusOK || versionOf(answer.Body) >= s.marks[k] {
			t.Errorf("%s: a most recent list at %d, after the store was set back before %d", k.GVR.Resource, versionOf(answer.Body), s.marks[k])
		}
		if err := testkit.CheckRead(q, answer, 0, model); err != nil {
			t.Errorf("when the store was set back: %v", err)
		}
	}
}
