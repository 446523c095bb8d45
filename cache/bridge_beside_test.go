package cache

import (
	"fmt"
	"testing"
	"time"
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

// TestBridgeBesideWriters: while a gap is bridged others write, whom readers wait for. How long the lock is held is
// told by how often it is.
func TestBridgeBesideWriters(t *testing.T) {
	const n = 10_000
	objects, list := gapOf(n)
	l := NewLane(podOptions)
	defer l.Close()
	l.verifying = false
	l.Replace(n, shape, objects)
	defer l.Expect()()
	bridged := make(chan error, 1)
	go func() { bridged <- l.Bridge(2*n, list) }()
	held, free := 0, 0
	look := time.NewTicker(50 * time.Microsecond)
	defer look.Stop()
	for range look.C {
		select {
		case err := <-bridged:
			if err != nil {
				t.Fatal(err)
			}
			if t.Logf("held %d times of %d", held, held+free); held > free {
				t.Errorf("the writers' lock was held %d times of %d", held, held+free)
			}
			return
		default:
		}
		if l.writing.TryLock() {
			l.writing.Unlock()
			free++
		} else {
			held++
		}
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
			s, _, err := l.bridgeable()
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
			if err := l.cross(s, found, found.events(300, 301, 600), gap{300, 600}); err != nil {
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
