package cache

import (
	"fmt"
	"testing"
)

// TestFeedsDoNotHoldUpTheWriter: while predicates are asked, here for as long as the test likes, the lane takes events
// and readers see them (I8). Watchers are told of them afterwards, all and in order (I3).
func TestFeedsDoNotHoldUpTheWriter(t *testing.T) {
	const last = RV(1000)
	l := newRacedLane()
	w := watch(t, l, selecting(t, "", "", ""), FromNow())
	feeds := &current(t, l).epoch.feeds
	feeds.mu.Lock() // every predicate is asked with it held
	for rv := RV(2); rv < last; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", ""))
	}
	l.Progress(last)
	equal(t, "RV of the State", current(t, l).RV(), last)
	if e, ok := w.Next(); ok || w.Progress() != 1 {
		t.Errorf("told of %s, and that it is all up to %d", describe(e), w.Progress())
	}
	woken := w.Wait()
	feeds.mu.Unlock()
	<-woken
	said := drained(w)
	equal(t, "events", len(said), int(last-2))
	for i, text := range said {
		equal(t, "event", text, fmt.Sprintf("MODIFIED a/a@%d  ", i+2))
	}
	equal(t, "progress", w.Progress(), last)
}

// TestFeedsThatLagTooFar: when history is gone before feeds have it, their watchers find themselves expired and are not
// shown a later part (I6); who begins to watch afterwards misses nothing.
func TestFeedsThatLagTooFar(t *testing.T) {
	l := NewLane(Options{HistoryBytes: 1})
	l.verifying, l.floor = false, floor{}
	l.Replace(1, shape, []*Object{pod("a/a", 1, "", "")})
	p := selecting(t, "", "", "")
	lost, elsewhere := watch(t, l, p, FromNow()), watch(t, l, selecting(t, "b", "", ""), FromNow())
	feeds := &current(t, l).epoch.feeds
	feeds.mu.Lock()
	for rv := RV(2); rv <= 5*segmentSize; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", ""))
	}
	feeds.mu.Unlock()
	oldest := l.Stats().Oldest
	equal(t, "events of one whose feed lost some", drained(lost), []string(nil))
	wantExpired(t, lost.Err(), ExpiredError{Requested: 1, Oldest: oldest})
	equal(t, "events of one whose feed may have lost some", drained(elsewhere), []string(nil))
	wantExpired(t, elsewhere.Err(), ExpiredError{Requested: 1, Oldest: oldest})
	since := watch(t, l, p, AfterRV(oldest))
	apply(t, l, Upsert, pod("a/b", 6*segmentSize, "", ""))
	equal(t, "events held", len(drained(since)), int(5*segmentSize-oldest)+1)
}

// TestCloseEndsTheDispatcher: nothing of a lane runs when it is closed, however much feeds lack.
func TestCloseEndsTheDispatcher(t *testing.T) {
	l := newRacedLane()
	watch(t, l, selecting(t, "", "", ""), FromNow())
	e := current(t, l).epoch
	for rv := RV(2); rv < 1000; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", ""))
	}
	l.Close()
	if dispatched := e.feeds.unanchored.next; dispatched > 998 { // without a lock: the race detector would tell
		t.Errorf("%d events were dispatched", dispatched)
	}
}

// TestNobodyStarves: feeds that are asked about everything hear of events although there are more of the others for
// each event than are asked in one turn, and the writer is as fast as the turns.
func TestNobodyStarves(t *testing.T) {
	l := NewLane(Options{})
	l.verifying = false // it would wait for the dispatcher, which is the test itself
	l.Replace(1, shape, []*Object{pod("ns/o", 1, "n", "b")})
	for i := range 3 * evaluatedAtOnce {
		watch(t, l, selecting(t, "", fmt.Sprintf("app=a,k%d!=x", i), ""), FromNow())
	}
	all := watch(t, l, selecting(t, "", "", ""), FromNow())
	e := current(t, l).epoch
	e.dispatching.Store(true)
	heard := 0
	const writes = 500
	for rv := RV(2); rv < 2+writes; rv++ {
		apply(t, l, Upsert, pod(fmt.Sprintf("ns/p%d", rv%50), rv, "n", "a"))
		e.follow(e.newest.Load())
		for _, ok := all.Next(); ok; _, ok = all.Next() {
			heard++
		}
	}
	if heard < writes/2 {
		t.Errorf("heard of %d events of %d", heard, writes)
	}
	if all.Progress() < writes/2 {
		t.Errorf("bookmarks are at %d", all.Progress())
	}
	e.dispatching.Store(false)
}

// TestLag: a lane says how many events its feeds have not been offered yet, and none where there are no feeds.
func TestLag(t *testing.T) {
	l := NewLane(Options{})
	l.verifying = false // it would wait for the dispatcher, which is the test itself
	l.Replace(1, shape, []*Object{pod("ns/o", 1, "n", "b")})
	e := current(t, l).epoch
	e.dispatching.Store(true)
	apply(t, l, Upsert, pod("ns/p", 2, "n", "a"))
	equal(t, "without a feed", l.Stats().Lag, int64(0))
	e.follow(e.newest.Load())
	all := watch(t, l, selecting(t, "", "", ""), FromNow())
	for rv := RV(3); rv < 6; rv++ {
		apply(t, l, Upsert, pod("ns/p", rv, "n", "a"))
	}
	equal(t, "before they are offered", l.Stats().Lag, int64(3))
	e.follow(e.newest.Load())
	equal(t, "after that", l.Stats().Lag, int64(0))
	equal(t, "events", len(drained(all)), 3)
	e.dispatching.Store(false)
}
