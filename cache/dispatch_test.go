package cache

import (
	"fmt"
	"testing"
)

// TestPredicatesDoNotDelayTheWriter: while predicates are evaluated, here as long as the test runs, the lane applies
// events and readers see them (I8). Watchers receive all of them afterwards, in order (I3).
func TestPredicatesDoNotDelayTheWriter(t *testing.T) {
	const last = RV(1000)
	l := newRacedLane()
	w := watch(t, l, selecting(t, "", "", ""), FromNow())
	feeds := &current(t, l).epoch.feeds
	feeds.mu.Lock() // held while predicates are evaluated
	for rv := RV(2); rv < last; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", ""))
	}
	l.Progress(last)
	equal(t, "RV of the State", current(t, l).RV(), last)
	if e, ok := w.Next(); ok || w.Progress() != 1 {
		t.Errorf("got %s and progress %d, want neither", describe(e), w.Progress())
	}
	woken := w.Wait()
	feeds.mu.Unlock()
	<-woken
	received := drained(w)
	equal(t, "events", len(received), int(last-2))
	for i, text := range received {
		equal(t, "event", text, fmt.Sprintf("MODIFIED a/a@%d  ", i+2))
	}
	equal(t, "progress", w.Progress(), last)
}

// TestFeedsThatLagTooFarExpire: when history drops events before feeds have them, the watchers end as expired and
// receive no later events (I6). A watch that begins afterwards misses nothing.
func TestFeedsThatLagTooFarExpire(t *testing.T) {
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
	equal(t, "events of a watch whose feed lost some", drained(lost), []string(nil))
	wantExpired(t, lost.Err(), ExpiredError{Requested: 1, Oldest: oldest})
	equal(t, "events of a watch whose feed may have lost some", drained(elsewhere), []string(nil))
	wantExpired(t, elsewhere.Err(), ExpiredError{Requested: 1, Oldest: oldest})
	since := watch(t, l, p, AfterRV(oldest))
	apply(t, l, Upsert, pod("a/b", 6*segmentSize, "", ""))
	equal(t, "events held", len(drained(since)), int(5*segmentSize-oldest)+1)
}

// TestCloseEndsTheDispatcher: no goroutine of a closed lane runs, however many events feeds lack.
func TestCloseEndsTheDispatcher(t *testing.T) {
	l := newRacedLane()
	watch(t, l, selecting(t, "", "", ""), FromNow())
	e := current(t, l).epoch
	for rv := RV(2); rv < 1000; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", ""))
	}
	l.Close()
	if dispatched := e.feeds.unanchored.next; dispatched > 998 { // without a lock, because none may run
		t.Errorf("got %d events dispatched after Close", dispatched)
	}
}

// TestUnanchoredFeedsDoNotStarve: feeds without an anchor receive events even if each event concerns more anchored
// feeds than one round evaluates. The writer is as fast as the rounds.
func TestUnanchoredFeedsDoNotStarve(t *testing.T) {
	l := NewLane(Options{})
	l.verifying = false // verifying would wait for the dispatcher, which the test replaces
	l.Replace(1, shape, []*Object{pod("ns/o", 1, "n", "b")})
	for i := range 3 * evaluatedAtOnce {
		watch(t, l, selecting(t, "", fmt.Sprintf("app=a,k%d!=x", i), ""), FromNow())
	}
	all := watch(t, l, selecting(t, "", "", ""), FromNow())
	e := current(t, l).epoch
	e.dispatching.Store(true)
	received := 0
	const writes = 500
	for rv := RV(2); rv < 2+writes; rv++ {
		apply(t, l, Upsert, pod(fmt.Sprintf("ns/p%d", rv%50), rv, "n", "a"))
		e.follow(e.newest.Load())
		for _, ok := all.Next(); ok; _, ok = all.Next() {
			received++
		}
	}
	if received < writes/2 {
		t.Errorf("got %d of %d events, want at least half", received, writes)
	}
	if all.Progress() < writes/2 {
		t.Errorf("got progress %d, want less lag", all.Progress())
	}
	e.dispatching.Store(false)
}

// TestLag: Stats reports the number of events not yet offered to feeds; it is 0 without feeds.
func TestLag(t *testing.T) {
	l := NewLane(Options{})
	l.verifying = false // verifying would wait for the dispatcher, which the test replaces
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
