package cache

import (
	"errors"
	"testing"
	"time"
)

// TestRestorationIsShownInOneStep: readers see nothing before Show, and then only the State after the last event.
// Watches start after each of its events and continue.
func TestRestorationIsShownInOneStep(t *testing.T) {
	l := NewLane(podOptions)
	l.verifying = true
	unread := func(when string) {
		t.Helper()
		if s, err := l.State(); !errors.Is(err, ErrNotReady) {
			t.Fatalf("%s: got State %+v, error %v", when, s, err)
		}
		if s, err := l.WaitFor(t.Context(), 10, 0); err == nil {
			t.Fatalf("%s: got %+v from WaitFor", when, s)
		}
		if _, err := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(10)}); !errors.Is(err, ErrNotReady) {
			t.Fatalf("%s: %v", when, err)
		}
	}
	r := l.Fill().Restore(10, shape, []*Object{pod("a/a", 5, "n1", "x"), pod("a/b", 6, "n1", "x")})
	unread("with content")
	for _, c := range []Change{
		{Kind: Upsert, Object: pod("a/a", 11, "n1", "x")}, {Kind: Delete, Object: pod("a/b", 13, "n1", "x")}, {Kind: Delete, Object: pod("a/none", 14, "n1", "x")},
	} {
		if err := r.Apply(c, time.Now()); err != nil {
			t.Fatal(err)
		}
		unread("with an event")
	}
	for _, rv := range []RV{13, 14} {
		if err := r.Apply(Change{Kind: Upsert, Object: pod("a/c", rv, "n1", "x")}, time.Now()); !errors.Is(err, ErrOutOfOrder) {
			t.Errorf("event at %d: got %v, want ErrOutOfOrder", rv, err)
		}
	}
	if err := r.Show(13); !errors.Is(err, ErrOutOfOrder) {
		t.Errorf("Show below the last event: got %v, want ErrOutOfOrder", err)
	}
	unread("refused")
	if err := r.Show(20); err != nil {
		t.Fatal(err)
	}
	s := current(t, l)
	equal(t, "content", content(s), "a/a@11 ")
	equal(t, "version", s.RV(), RV(20))
	w := watch(t, l, everything(t), AfterRV(11))
	all := watch(t, l, everything(t), AfterRV(10))
	apply(t, l, Upsert, pod("a/d", 21, "n1", "x"))
	equal(t, "watch from within", len(drained(w)), 2)
	equal(t, "watch from its beginning", len(drained(all)), 3)
	if _, err := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(9)}); err == nil {
		t.Error("got a watch from before the restored history")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("second Show: got no panic")
			}
		}()
		_ = r.Show(21)
	}()
	equal(t, "RV after the second Show", current(t, l).RV(), RV(21))
	equal(t, "objects after the second Show", current(t, l).Len(), 2)
	late := l.Fill().Restore(10, shape, nil)
	l.Close()
	if err := late.Show(20); !errors.Is(err, ErrClosed) {
		t.Errorf("Show after Close: got %v, want ErrClosed", err)
	}
}

// TestRestorationIsCounted: the memory counted before Show equals that of the lane after it: the objects, the indexes
// and the history that is kept.
func TestRestorationIsCounted(t *testing.T) {
	for name, most := range map[string]int64{"all of history": 0, "trimmed history": 64 << 10} {
		t.Run(name, func(t *testing.T) {
			o := podOptions
			o.HistoryBytes = most
			l := NewLane(o)
			defer l.Close()
			l.floor = floor{}
			f := l.Fill()
			var objects []*Object
			for i := range 100 {
				objects = append(objects, podNumber(i, 1))
				f.Add(objects[i])
			}
			r := f.Restore(10, shape, objects)
			for i := range 1000 {
				c := Change{Kind: Upsert, Object: podNumber(i%150, RV(11+i))}
				if i%5 == 0 {
					c.Kind = Delete // for some objects that exist and some that do not
				}
				if err := r.Apply(c, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			before := memoryOf(l)
			equal(t, "memory that the filling is received to take", f.Memory(), before)
			if err := r.Show(2000); err != nil {
				t.Fatal(err)
			}
			if l.Stats().HistoryBytes == 0 {
				t.Fatal("got no history, want some")
			}
			equal(t, "memory before it is shown", before, memoryOf(l))
			f = l.Fill()
			f.Restore(10, shape, []*Object{podNumber(1, 1)})
			f.Drop()
			equal(t, "memory after another is dropped", memoryOf(l), before)
		})
	}
}

// TestDroppedFilling: nothing remains of a dropped list, not even the dictionary.
func TestDroppedFilling(t *testing.T) {
	l := NewLane(packingOptions)
	f := l.Fill()
	for i := range 400 {
		f.Add(podNumber(i, 1))
	}
	if l.dictionary.Load() == nil || memoryOf(l) == 0 {
		t.Fatal("got no dictionary from 400 objects")
	}
	f.Drop()
	if l.dictionary.Load() != nil || memoryOf(l) != 0 {
		t.Errorf("got dictionary %v and %d bytes, want none", l.dictionary.Load(), memoryOf(l))
	}
}

func memoryOf(l *Lane) int64 {
	stats := l.Stats()
	return stats.Memory()
}
