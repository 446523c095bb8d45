package cache

import (
	"fmt"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// TestHistoryWindowIsBoundedByAge: watches and exact reads below the window fail (I6).
func TestHistoryWindowIsBoundedByAge(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := NewLane(Options{HistoryWindow: 10 * time.Minute})
		l.verifying, l.floor = true, floor{}
		l.Replace(100, shape, nil)
		for rv := RV(101); rv <= 100+3*segmentSize; rv++ {
			apply(t, l, Upsert, pod("a/a", rv, "", ""))
			pass(time.Second)
		}
		p := selecting(t, "", "", "")
		equal(t, "events held", len(drained(watch(t, l, p, AfterRV(100)))), 3*segmentSize)

		pass(10*time.Minute - segmentSize*time.Second)
		l.Progress(1000)
		oldest := RV(100 + 2*segmentSize)
		equal(t, "oldest", l.Stats().Oldest, oldest)
		_, err := l.Watch(WatchOptions{Predicate: p, Start: AfterRV(oldest - 1)})
		wantExpired(t, err, ExpiredError{Requested: oldest - 1, Oldest: oldest})
		_, err = l.At(t.Context(), oldest-1, 0)
		wantExpired(t, err, ExpiredError{Requested: oldest - 1, Oldest: oldest})
		equal(t, "events held", len(drained(watch(t, l, p, AfterRV(oldest)))), segmentSize)
		equal(t, "oldest content", content(at(t, l, oldest)), fmt.Sprintf("a/a@%d ", oldest))

		pass(20 * time.Minute)
		l.Progress(1001)
		oldest = RV(100 + 3*segmentSize)
		equal(t, "oldest without events", l.Stats().Oldest, oldest)
		equal(t, "bytes without events", l.Stats().HistoryBytes, int64(0))
		equal(t, "content between", content(at(t, l, 999)), fmt.Sprintf("a/a@%d ", oldest))
		apply(t, l, Upsert, pod("a/a", 1002, "", ""))
		equal(t, "events after a pause", drained(watch(t, l, p, AfterRV(oldest))), []string{"MODIFIED a/a@1002  "})
	})
}

// TestHistoryKeepsTheFloor: no window or budget makes history shorter than that of kube-apiserver, however long nothing
// happens. Events below both bounds are dropped as there (semantics 4.1).
func TestHistoryKeepsTheFloor(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newTestLane(t, Options{HistoryWindow: time.Second, HistoryBytes: 1}, 100)
		l.verifying = false // verifying all of history each time is slow
		last := RV(100)
		write := func(events int, every time.Duration) {
			for range events {
				last++
				apply(t, l, Upsert, pod("a/a", last, "", ""))
				pass(every)
			}
		}
		p := selecting(t, "", "", "")
		write(6*segmentSize, 75*time.Second/(6*segmentSize))
		equal(t, "oldest when all events are of the last 75 s", l.Stats().Oldest, RV(100))
		equal(t, "events held", len(drained(watch(t, l, p, AfterRV(100)))), 6*segmentSize)

		pass(30 * time.Second)
		l.Trim()
		equal(t, "oldest when some events are older", l.Stats().Oldest, RV(100+2*segmentSize))
		pass(24 * time.Hour)
		l.Trim()
		l.Progress(last + 1000)
		equal(t, "oldest when all events are older", l.Stats().Oldest, RV(100+4*segmentSize))
		equal(t, "events held", len(drained(watch(t, l, p, AfterRV(last-100)))), 100)
	})
}

// TestShortenKeepsTheFloor: Shorten drops everything above the floor, once.
func TestShortenKeepsTheFloor(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newTestLane(t, Options{HistoryWindow: time.Hour}, 100)
		for rv := RV(101); rv <= 100+6*segmentSize; rv++ {
			apply(t, l, Upsert, pod("a/a", rv, "", ""))
			pass(time.Second)
		}
		before := l.Stats()
		equal(t, "oldest", before.Oldest, RV(100))
		freed := l.Shorten()
		after := l.Stats()
		// The last 75 s and 100 events are in two segments.
		equal(t, "oldest after Shorten", after.Oldest, RV(100+4*segmentSize))
		equal(t, "bytes", after.HistoryBytes, before.HistoryBytes-freed)
		equal(t, "bytes freed by a second Shorten", l.Shorten(), int64(0))
		equal(t, "events", len(drained(watch(t, l, selecting(t, "", "", ""), AfterRV(after.Oldest)))), 2*segmentSize)
		_, err := l.Watch(WatchOptions{Predicate: selecting(t, "", "", ""), Start: AfterRV(after.Oldest - 1)})
		wantExpired(t, err, ExpiredError{Requested: after.Oldest - 1, Oldest: after.Oldest})
	})
}

// TestHistoryFloorIsBounded: of many events in a short time, kube-apiserver does not keep all, either.
func TestHistoryFloorIsBounded(t *testing.T) {
	equal(t, "maximum number of events kept for 75 s", watchCacheFloor.most, int64(102_400))
	l := NewLane(Options{HistoryBytes: 1})
	l.floor.most = 1000
	l.Replace(100, shape, nil)
	for rv := RV(101); rv <= 5000; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", ""))
	}
	if held := 5000 - l.Stats().Oldest; held < 1000 || held > 1000+segmentSize {
		t.Errorf("got %d events", held)
	}
}

// TestHistoryBudgetExpiresSlowWatchers: while two watchers read nothing, the writer continues and a fast watcher sees
// every event (I8). The two then end as expired and receive no later events (I6).
func TestHistoryBudgetExpiresSlowWatchers(t *testing.T) {
	bubble.Test(t, testHistoryBudget)
}

func testHistoryBudget(t *testing.T) {
	const budget = 256 << 10
	l := newTestLane(t, Options{HistoryBytes: budget}, 100, pod("a/quiet", 1, "", ""))
	busy, quiet := selecting(t, "a", "", "metadata.name!=quiet"), selecting(t, "a", "", "metadata.name=quiet")
	lagging, keepingUp, idle := watch(t, l, busy, FromNow()), watch(t, l, busy, FromNow()), watch(t, l, quiet, FromNow())
	starting := watch(t, l, busy, InitialEvents(current(t, l)))
	leaving := watch(t, l, selecting(t, "", "app=a", ""), FromNow())
	drained(idle)
	seen := 0
	for i := range 1000 {
		apply(t, l, Upsert, pod("a/busy", RV(101+i), "", string("ab"[i%2])))
		seen += len(drained(keepingUp)) + len(drained(leaving))
		pass(time.Second)
		if bytes := l.Stats().HistoryBytes; bytes > budget*3/2 {
			t.Fatalf("got %d bytes of history after %d events", bytes, i)
		}
	}
	equal(t, "events of the fast watcher", seen, 2000)
	equal(t, "events of the slow watcher", drained(lagging), []string(nil))
	wantExpired(t, lagging.Err(), ExpiredError{Requested: 100, Oldest: l.Stats().Oldest})
	equal(t, "events of a watcher that has not begun", drained(starting), []string(nil))
	wantExpired(t, starting.Err(), ExpiredError{Requested: 100, Oldest: l.Stats().Oldest})
	equal(t, "expired", l.Stats().Expired, uint64(2))

	apply(t, l, Delete, pod("a/quiet", 5000, "", ""))
	equal(t, "events of a watcher without earlier events", drained(idle), []string{"DELETED a/quiet@5000  "})
}

// TestHistoryIsChargedForItsObjects: a replaced object counts until its event is dropped, and so does the copy for a
// DELETED.
func TestHistoryIsChargedForItsObjects(t *testing.T) {
	first, second := pod("a/a", 1, "n1", "x"), pod("a/a", 11, "n1", "y")
	l := newTestLane(t, Options{}, 10, first)
	w := watch(t, l, selecting(t, "", "app=x", ""), FromNow())
	apply(t, l, Upsert, second)
	path := current(t, l).pathBytes()
	equal(t, "after an update", l.Stats().HistoryBytes, path+int64(first.Size()))
	deleted, _ := w.Next()
	equal(t, "after a DELETED", l.Stats().HistoryBytes, path+int64(first.Size()+deleted.Object.Size()))
	equal(t, "objects", l.Stats().ObjectBytes, int64(second.Size()))
}
