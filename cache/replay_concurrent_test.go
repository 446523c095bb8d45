package cache

import (
	"fmt"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// lossOf returns n objects at RVs 1 to n, and a list at 2n in which each has changed.
func lossOf(n int) (objects, list []*Object) {
	for i := range n {
		key := fmt.Sprintf("a/pod-%06d", i)
		objects = append(objects, pod(key, RV(1+i), "n1", "x"))
		list = append(list, pod(key, RV(1+n+i), "n2", "y"))
	}
	return objects, list
}

// TestReplayDoesNotBlockWriters: the State at the end of a lost window is built without the writers' lock, for which
// readers may wait. Only finishReplay takes it.
func TestReplayDoesNotBlockWriters(t *testing.T) {
	objects, list := lossOf(300)
	l := newTestLane(t, podOptions, 300, objects...)
	defer l.Expect()()
	s, _, err := l.replayable()
	if err != nil {
		t.Fatal(err)
	}
	l.writing.Lock()
	made := make(chan *State, 1)
	var found *comparison
	go func() {
		defer close(made)
		if found, err = s.compare(300, 600, list); err == nil {
			made <- s.afterLostWindow(found.events(300, 301, 600), 600)
		}
	}()
	select {
	case final := <-made:
		l.writing.Unlock()
		if err != nil || final.RV() != 600 {
			t.Fatalf("got State %+v, error %v", final, err)
		}
		if now, err := l.finishReplay(s, final, found, found.events(300, 301, 600), lostWindow{300, 600}); err != nil || now != s {
			t.Fatalf("got State %+v, error %v", now, err)
		}
	case <-time.After(settings.Patience()):
		l.writing.Unlock()
		t.Fatal("building the final State waits for the writers' lock")
	}
	if rv := current(t, l).RV(); rv != 600 {
		t.Errorf("got RV %d, want 600", rv)
	}
}

// TestReplayDuringIndexing: an index that the lane adds while the final State is built is in that State, and a dropped
// index is not.
func TestReplayDuringIndexing(t *testing.T) {
	objects, list := lossOf(300)
	for name, indexes := range map[string][]Index{"built": {FieldIndex(nodeField), LabelIndex("app")}, "dropped": nil} {
		t.Run(name, func(t *testing.T) {
			l := newTestLane(t, Options{Indexes: []Index{FieldIndex(nodeField)}}, 300, objects...)
			defer l.Expect()()
			s, _, err := l.replayable()
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.compare(300, 600, list)
			if err != nil {
				t.Fatal(err)
			}
			var has []index
			for _, of := range indexes {
				has = append(has, newIndex(of, objects))
			}
			l.writing.Lock()
			l.reindex(s, has)
			l.writing.Unlock()
			if err := l.replayWindow(s, found, found.events(300, 301, 600), lostWindow{300, 600}); err != nil {
				t.Fatal(err)
			}
			now := current(t, l)
			if now.RV() != 600 || len(now.indexes) != len(indexes) {
				t.Fatalf("got RV %d with %d indexes, want 600 with %d", now.RV(), len(now.indexes), len(indexes))
			}
			l.running.Wait()
			if err := l.verify(); err != nil {
				t.Error(err)
			}
		})
	}
}
