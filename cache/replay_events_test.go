package cache

import (
	"errors"
	"slices"
	"testing"
)

// at100 returns the objects at RV 100 of tests with known events.
func at100() []*Object {
	return []*Object{
		born(pod("a/same", 5, "n1", "x"), "1"), born(pod("a/changes", 50, "n1", "x"), "2"), born(pod("a/goes", 60, "n1", "x"), "3"),
		born(pod("a/leaves", 61, "n1", "x"), "4"), born(pod("a/enters", 62, "n2", "y"), "5"), born(pod("a/again", 63, "n1", "x"), "6"),
		born(pod("b/goes", 70, "n1", "x"), "7"),
	}
}

// at110 returns the objects at RV 110.
func at110() []*Object {
	return []*Object{
		born(pod("a/same", 5, "n1", "x"), "1"), born(pod("a/changes", 109, "n1", "x"), "2"), born(pod("a/leaves", 104, "n1", "y"), "4"),
		born(pod("a/enters", 103, "n2", "x"), "5"), born(pod("a/again", 106, "n1", "x"), "60"), born(pod("a/new", 105, "n3", "x"), "8"),
	}
}

func TestReplaySendsDifferences(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	all, x := watch(t, l, everything(t), AfterRV(100)), watch(t, l, selecting(t, "", "app=x", ""), AfterRV(100))
	if err := replay(l, 110, at110()); err != nil {
		t.Fatal(err)
	}
	equal(t, "everything", drained(all), []string{
		"DELETED a/again@100 n1 x", "DELETED a/goes@100 n1 x", "DELETED b/goes@100 n1 x", "MODIFIED a/enters@103 n2 x",
		"MODIFIED a/leaves@104 n1 y", "ADDED a/new@105 n3 x", "ADDED a/again@106 n1 x", "MODIFIED a/changes@109 n1 x",
	})
	equal(t, "selected", drained(x), []string{
		"DELETED a/again@100 n1 x", "DELETED a/goes@100 n1 x", "DELETED b/goes@100 n1 x", "DELETED a/leaves@100 n1 x",
		"ADDED a/enters@103 n2 x", "ADDED a/new@105 n3 x", "ADDED a/again@106 n1 x", "MODIFIED a/changes@109 n1 x",
	})
	if s := l.Stats(); s.Replayed != 1 || s.Relists != 1 || s.RV != 110 {
		t.Errorf("got %+v", s)
	}
	same, _ := current(t, l).Get("a/same")
	if was, _ := at(t, l, 100).Get("a/same"); was != same {
		t.Error("got two copies of an unchanged object")
	}
	apply(t, l, Upsert, born(pod("a/new", 111, "n1", ""), "8"))
	equal(t, "later", drained(x), []string{"DELETED a/new@111 n3 x"})
}

// TestReplayRefuses: a list that cannot be replayed fails and changes nothing.
func TestReplayRefuses(t *testing.T) {
	replaced := func(key string, by ...*Object) []*Object {
		list := slices.DeleteFunc(at110(), func(o *Object) bool { return o.Key() == key })
		return append(list, by...)
	}
	for name, c := range map[string]struct {
		rv   RV
		list []*Object
		want error
	}{
		"an older backup":               {99, nil, ErrSetBack},
		"an older object":               {110, replaced("a/changes", born(pod("a/changes", 49, "n1", "x"), "2")), ErrOtherPast},
		"other content at the same RV":  {110, replaced("a/same", born(pod("a/same", 5, "n2", "x"), "1")), ErrOtherPast},
		"another UID at the same RV":    {110, replaced("a/same", born(pod("a/same", 5, "n1", "x"), "9")), ErrOtherPast},
		"a new object at an old RV":     {110, replaced("", born(pod("c/old", 90, "n1", "x"), "9")), ErrOtherPast},
		"a change at an old RV":         {110, replaced("a/changes", born(pod("a/changes", 90, "n1", "x"), "2")), ErrOtherPast},
		"two objects at the same RV":    {110, replaced("a/changes", born(pod("a/changes", 105, "n1", "x"), "2")), ErrOtherPast},
		"an object newer than the list": {108, at110(), ErrOtherPast},
		"changes at the lane's RV":      {100, at110(), ErrOtherPast},
		"deletion at the lane's RV":     {100, at100()[1:], ErrOtherPast},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestLane(t, podOptions, 100, at100()...)
			w, s := watch(t, l, everything(t), FromNow()), current(t, l)
			if err := replay(l, c.rv, c.list); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if received := drained(w); current(t, l) != s || len(received) > 0 || w.Err() != nil || l.Stats().Replayed > 0 {
				t.Errorf("got events %v, error %v, want no change", received, w.Err())
			}
		})
	}
	if err := replay(NewLane(podOptions), 1, nil); !errors.Is(err, ErrNotReady) {
		t.Errorf("without a list: %v", err)
	}
	closed := newTestLane(t, podOptions, 1)
	closed.Close()
	if err := replay(closed, 1, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestReplayOfOneWrite: a window with at most one write is not lost, because the event and its RV are known.
func TestReplayOfOneWrite(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	w, err := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(100), Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := errors.Join(replay(l, 100, at100()), replay(l, 101, at100()[1:])); err != nil {
		t.Fatal(err)
	}
	list := append(at100()[2:], born(pod("a/changes", 102, "n1", "y"), "2"))
	if err := replay(l, 102, list); err != nil {
		t.Fatal(err)
	}
	equal(t, "events", drained(w), []string{"DELETED a/same@101 n1 x", "MODIFIED a/changes@102 n1 y"})
	if w.Err() != nil || w.EndOfReplay() > 0 || w.Progress() != 102 {
		t.Errorf("got error %v, EndOfReplay %d, progress %d", w.Err(), w.EndOfReplay(), w.Progress())
	}
	if err := replay(l, 103, at100()[4:]); err != nil { // more deletions than one write has
		t.Fatal(err)
	}
	if _, ok := w.Next(); ok || w.Err() == nil {
		t.Error("exact watcher continues over a lost window")
	}
	back := watch(t, l, everything(t), AfterRV(102))
	equal(t, "events of a new watch", drained(back), []string{
		"DELETED a/changes@102 n1 y", "DELETED a/goes@102 n1 x", "DELETED a/leaves@102 n1 x",
	})
}

// TestReplayAfterDeletions: deletions at one RV may be missing when the upstream is lost. No read is served there, and
// watchers receive the rest later.
func TestReplayAfterDeletions(t *testing.T) {
	o := podOptions
	o.ReadFromEtcd = true
	l := newTestLane(t, o, 100, at100()...)
	w := watch(t, l, everything(t), AfterRV(100))
	apply(t, l, Delete, born(pod("a/goes", 101, "n1", "x"), "3"))
	if err := replay(l, 110, at110()); err != nil {
		t.Fatal(err)
	}
	if received := drained(w); len(received) != 8 || received[0] != "DELETED a/goes@101 n1 x" || received[2] != "DELETED b/goes@101 n1 x" {
		t.Errorf("%v", received)
	}
	var expired *ExpiredError
	if _, err := l.At(t.Context(), 101, 0); !errors.As(err, &expired) {
		t.Errorf("at 101, where more deletions may come: got %v, want *ExpiredError", err)
	}
	if s := at(t, l, 100); s.Len() != 7 {
		t.Errorf("at 100: got %d objects, want 7", s.Len())
	}
}
