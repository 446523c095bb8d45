package cache

import (
	"errors"
	"io"
	"testing"
)

// TestSelectorEvents replays a sequence observed at a real upstream (semantics 4.4), once live and once from history.
// An object that enters a selector is ADDED, and one that leaves it is DELETED with its previous content (I7).
func TestSelectorEvents(t *testing.T) {
	l := newTestLane(t, podOptions, 508)
	p := selecting(t, "", "app=a", "")
	live := watch(t, l, p, FromNow())
	apply(t, l, Upsert, pod("x/o", 509, "v1", "b"))
	apply(t, l, Upsert, pod("x/o", 510, "v2", "a"))
	apply(t, l, Upsert, pod("x/o", 511, "v3", "a"))
	apply(t, l, Upsert, pod("x/o", 512, "v4", "c"))
	apply(t, l, Upsert, pod("x/o", 513, "v5", "a"))
	apply(t, l, Delete, pod("x/o", 514, "v5", "a"))
	want := []string{"ADDED x/o@510 v2 a", "MODIFIED x/o@511 v3 a", "DELETED x/o@512 v3 a", "ADDED x/o@513 v5 a", "DELETED x/o@514 v5 a"}
	equal(t, "live", drained(live), want)
	equal(t, "replayed", drained(watch(t, l, p, AfterRV(508))), want)
	equal(t, "progress", live.Progress(), RV(514))
}

// TestDeletedObjectIsMadeOnce: all feeds and replays share the object of a DELETED.
func TestDeletedObjectIsMadeOnce(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	byLabel := watch(t, l, selecting(t, "", "app=a", ""), FromNow())
	byNode := watch(t, l, selecting(t, "", "", "spec.nodeName=n1"), FromNow())
	before, _ := current(t, l).Get("x/o")
	apply(t, l, Upsert, pod("x/o", 2, "n2", "b"))
	first, _ := byLabel.Next()
	second, _ := byNode.Next()
	third, _ := watch(t, l, selecting(t, "", "app=a", ""), AfterRV(1)).Next()
	if first.Object != second.Object || first.Object != third.Object {
		t.Error("got several objects for a DELETED, want one")
	}
	equal(t, "event", describe(first), "DELETED x/o@2 n1 a")
	equal(t, "bytes", textOf(first.Object.Item()), textOf(before.at(2, shape).Item()))
	equal(t, "RV of the object before it", before.RV, RV(1))
}

func TestStarts(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a-b/x", 4, "n1", ""), pod("a/x", 9, "n2", ""), pod("a/y", 7, "n1", ""))
	old := current(t, l)
	apply(t, l, Upsert, pod("a/z", 11, "n1", ""))
	apply(t, l, Upsert, pod("a/x", 13, "n1", ""))
	l.Progress(20)
	all, onNode := selecting(t, "", "", ""), selecting(t, "a", "", "spec.nodeName=n1")
	z, x := "ADDED a/z@11 n1 ", "MODIFIED a/x@13 n1 "
	for _, c := range []struct {
		name  string
		w     *Watcher
		wants []string
	}{
		{"after 10", watch(t, l, all, AfterRV(10)), []string{z, x}},
		{"after 11", watch(t, l, all, AfterRV(11)), []string{x}},
		{"after 12", watch(t, l, all, AfterRV(12)), []string{x}},
		{"after 20", watch(t, l, all, AfterRV(20)), nil},
		{"from now", watch(t, l, all, FromNow()), nil},
		{"initial", watch(t, l, all, InitialEvents(old)),
			[]string{"ADDED a-b/x@4 n1 ", "ADDED a/x@9 n2 ", "ADDED a/y@7 n1 ", "BOOKMARK@10", z, x}},
		{"initial of an exact read", watch(t, l, selecting(t, "a", "", ""), InitialEvents(at(t, l, 12))),
			[]string{"ADDED a/x@9 n2 ", "ADDED a/y@7 n1 ", z, "BOOKMARK@12", x}},
		{"initial selected", watch(t, l, onNode, InitialEvents(old)),
			[]string{"ADDED a/y@7 n1 ", "BOOKMARK@10", z, "ADDED a/x@13 n1 "}},
		{"initial of nothing", watch(t, l, selecting(t, "none", "", ""), InitialEvents(current(t, l))), []string{"BOOKMARK@20"}},
	} {
		equal(t, c.name, drained(c.w), c.wants)
		equal(t, c.name+", progress", c.w.Progress(), RV(20))
	}
}

// TestFutureStart: a start above the lane's RV is accepted, and no event up to it is returned (semantics 4.1).
func TestFutureStart(t *testing.T) {
	l := newTestLane(t, podOptions, 10)
	w := watch(t, l, selecting(t, "", "", ""), AfterRV(12))
	for rv := RV(11); rv <= 14; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", ""))
	}
	equal(t, "events", drained(w), []string{"MODIFIED a/a@13  ", "MODIFIED a/a@14  "})
}

// TestStateAheadOfFeed: a State is published before feeds have its event. A watch from it must not repeat the event
// (I3, I5).
func TestStateAheadOfFeed(t *testing.T) {
	l := newTestLane(t, podOptions, 10)
	w := watch(t, l, selecting(t, "", "", ""), FromNow())
	o := pod("a/a", 11, "", "")
	s := current(t, l)
	next := s.after(11, nil, o)
	s.epoch.history.append(change{rv: 11, now: o, state: next})
	l.publish(next)
	early := watch(t, l, selecting(t, "", "", ""), InitialEvents(current(t, l)))
	equal(t, "events before the feed has them", drained(w), []string(nil))
	equal(t, "progress before the feed has them", w.Progress(), RV(10))
	equal(t, "initial events", drained(early), []string{"ADDED a/a@11  ", "BOOKMARK@11"})
	equal(t, "progress of a watch from the State", early.Progress(), RV(11))
	s.epoch.written(next)
	equal(t, "events", drained(w), []string{"ADDED a/a@11  "})
	equal(t, "events of a watch from the State", drained(early), []string(nil))
}

// TestRelistEndsWatches: a relist ends every watch with an error, and no watch shows events of the new epoch (I11).
func TestRelistEndsWatches(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/a", 5, "", ""))
	p := selecting(t, "", "", "")
	idle, lagging, starting := watch(t, l, p, FromNow()), watch(t, l, p, FromNow()), watch(t, l, p, InitialEvents(current(t, l)))
	old := current(t, l)
	apply(t, l, Upsert, pod("a/a", 11, "", ""))
	drained(idle)
	waiting := idle.Wait()
	l.Replace(50, shape, []*Object{pod("a/b", 40, "", "")})
	<-waiting
	drained(starting)
	for name, w := range map[string]*Watcher{"idle": idle, "lagging": lagging, "starting": starting} {
		if e, ok := w.Next(); ok {
			t.Errorf("%s: got %s after the relist", name, describe(e))
		}
		var expired *ExpiredError
		if !errors.As(w.Err(), &expired) || expired.Oldest != 50 {
			t.Errorf("%s: got %v, want *ExpiredError", name, w.Err())
		}
		<-w.Wait()
	}
	wantExpired(t, idle.Err(), ExpiredError{Requested: 11, Oldest: 50})
	for _, start := range []Start{InitialEvents(old), AfterRV(49)} {
		_, err := l.Watch(WatchOptions{Predicate: p, Start: start})
		var expired *ExpiredError
		if !errors.As(err, &expired) || expired.Oldest != 50 {
			t.Errorf("watch from the last epoch: got %v, want *ExpiredError", err)
		}
	}
	equal(t, "old State", content(old), "a/a@5 ")
	_, err := old.epoch.history.before(10) // a read that began before the relist
	wantExpired(t, err, ExpiredError{Requested: 10, Oldest: 11})
	last, err := old.epoch.history.before(11)
	if err != nil || content(last) != "a/a@11 " {
		t.Errorf("last State of the old epoch: %v", err)
	}
	equal(t, "events after 50", drained(watch(t, l, p, AfterRV(50))), []string(nil))
}

func TestCloseEndsWatches(t *testing.T) {
	l := newTestLane(t, podOptions, 10)
	byLane, byOwner := watch(t, l, selecting(t, "", "", ""), FromNow()), watch(t, l, selecting(t, "", "", ""), FromNow())
	equal(t, "feeds", l.Stats().Feeds, int64(1))
	equal(t, "watchers", l.Stats().Watchers, int64(2))
	byOwner.Close()
	byOwner.Close()
	equal(t, "watchers", l.Stats().Watchers, int64(1))
	apply(t, l, Upsert, pod("a/a", 11, "", ""))
	waiting := byLane.Wait()
	l.Close()
	<-waiting
	equal(t, "remaining events", drained(byLane), []string{"ADDED a/a@11  "})
	for _, w := range []*Watcher{byLane, byOwner} {
		if _, ok := w.Next(); ok || !errors.Is(w.Err(), io.EOF) {
			t.Errorf("got %v, want io.EOF", w.Err())
		}
	}
}

// TestWaitLosesNoWakeUp: an event between Next and Wait wakes the watcher, and an event for other watchers does not.
func TestWaitLosesNoWakeUp(t *testing.T) {
	l := newTestLane(t, podOptions, 10)
	w := watch(t, l, selecting(t, "", "", "spec.nodeName=n1"), FromNow())
	drained(w)
	waiting := w.Wait()
	apply(t, l, Upsert, pod("a/a", 11, "n2", ""))
	l.Progress(12)
	select {
	case <-waiting:
		t.Error("got a wake-up for an event that is not selected")
	default:
	}
	apply(t, l, Upsert, pod("a/b", 13, "n1", ""))
	<-waiting
	<-w.Wait()
	equal(t, "events", drained(w), []string{"ADDED a/b@13 n1 "})
}

func TestFeedsGrowBeyondAChunk(t *testing.T) {
	l := newTestLane(t, podOptions, 10)
	w := watch(t, l, selecting(t, "a", "", ""), FromNow())
	const events = 5*feedChunkSize + 1
	for i := range events {
		apply(t, l, Upsert, pod("a/a", RV(11+i), "", ""))
		if i == feedChunkSize-1 {
			equal(t, "first chunk", len(drained(w)), feedChunkSize)
		}
	}
	equal(t, "rest", len(drained(w)), events-feedChunkSize)
	<-func() <-chan struct{} { apply(t, l, Upsert, pod("a/a", 9999, "", "")); return w.Wait() }()
	equal(t, "one more", len(drained(w)), 1)
}

// TestProgressIncludesReturnedEvents checks the moment when feeds have an event and the dispatcher has not declared it
// complete.
func TestProgressIncludesReturnedEvents(t *testing.T) {
	l := newTestLane(t, podOptions, 10)
	w := watch(t, l, selecting(t, "", "", ""), FromNow())
	apply(t, l, Upsert, pod("x/a", 11, "n", "a"))
	apply(t, l, Upsert, pod("x/a", 12, "n", "a"))
	w.feed.follower.complete.Store(11)
	defer w.feed.follower.complete.Store(12)
	drained(w)
	if got := w.Progress(); got != 12 {
		t.Errorf("got progress %d after the event at 12, want 12", got)
	}
}

// TestBehind: other goroutines can read a watch's position and remaining events, from history and from the feed.
func TestBehind(t *testing.T) {
	l := newTestLane(t, podOptions, 10)
	for rv := RV(11); rv < 14; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", ""))
	}
	w := watch(t, l, selecting(t, "a", "", ""), AfterRV(10))
	state := func(behind int64, position uint64) {
		t.Helper()
		if w.Behind() != behind || w.Position() != position {
			t.Errorf("got %d events behind at %d, want %d at %d", w.Behind(), w.Position(), behind, position)
		}
	}
	state(3, 10)
	w.Next()
	state(2, 11)
	drained(w)
	state(0, 13)
	for rv := RV(14); rv < 14+3*feedChunkSize; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", ""))
	}
	state(3*feedChunkSize, 13)
	w.Next()
	state(3*feedChunkSize-1, 14)
	apply(t, l, Upsert, pod("b/a", 999, "", ""))
	drained(w)
	state(0, 999)
}
