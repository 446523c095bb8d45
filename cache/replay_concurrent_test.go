package cache

import (
	"fmt"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// gapOf returns objects at 1 to n, and a list at 2n in which each of them has changed.
func gapOf(n int) (objects, list []*Object) {
	for i := range n {
		key := fmt.Sprintf("a/pod-%06d", i)
		objects = append(objects, pod(key, RV(1+i), "n1", "x"))
		list = append(list, pod(key, RV(1+n+i), "n2", "y"))
	}
	return objects, list
}

// TestBridgeBesideWriters: while the State at the end of a gap is made others write, whom readers wait for. Only who
// lands there waits for the writers' lock.
func TestBridgeBesideWriters(t *testing.T) {
	objects, list := gapOf(300)
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
			t.Fatalf("%+v, %v", final, err)
		}
		if now, err := l.finishReplay(s, final, found, found.events(300, 301, 600), lostWindow{300, 600}); err != nil || now != s {
			t.Fatalf("%+v, %v", now, err)
		}
	case <-time.After(settings.Patience()):
		l.writing.Unlock()
		t.Fatal("the State at the end of a gap waits for the writers' lock")
	}
	if rv := current(t, l).RV(); rv != 600 {
		t.Errorf("at %d", rv)
	}
}

// TestBridgeBesideIndexing: an index that the lane gets while the end of a gap is made is there behind the gap, too,
// and one that it drops is not.
func TestBridgeBesideIndexing(t *testing.T) {
	objects, list := gapOf(300)
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
				t.Fatalf("at %d with %d indexes, want %d", now.RV(), len(now.indexes), len(indexes))
			}
			l.running.Wait()
			if err := l.verify(); err != nil {
				t.Error(err)
			}
		})
	}
}
