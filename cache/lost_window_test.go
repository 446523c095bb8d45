package cache

import (
	"errors"
	"testing"
)

// TestLostWindowsAreBounded: a lane without events does not keep every lost window.
func TestLostWindowsAreBounded(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	w := watch(t, l, everything(t), AfterRV(100))
	const many = maxLostWindows + 50
	for i := range RV(many) {
		if err := replay(l, 110+10*i, at100()); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(l.state.Load().epoch.history.held.Load().lostWindows); got != maxLostWindows {
		t.Errorf("got %d lost windows", got)
	}
	for _, rv := range []RV{100, 100 + 10*51, 100 + 10*many} {
		if _, err := l.At(t.Context(), rv, 0); err != nil {
			t.Errorf("at %d: %v", rv, err)
		}
	}
	var expired *ExpiredError
	for _, rv := range []RV{110, 115, 100 + 10*51 + 5} {
		if _, err := l.At(t.Context(), rv, 0); !errors.As(err, &expired) {
			t.Errorf("at %d: %v", rv, err)
		}
	}
	if received := drained(w); len(received) > 0 || w.Err() != nil || w.Progress() != 100+10*many {
		t.Errorf("got events %v, error %v, progress %d", received, w.Err(), w.Progress())
	}
}

// TestNothingIsCompleteInsideALostWindow: after an event of a lost window the watcher is not complete, and it needs a
// bookmark at the end (I12).
func TestNothingIsCompleteInsideALostWindow(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	w := watch(t, l, selecting(t, "", "", "metadata.name=enters"), AfterRV(100))
	if err := replay(l, 110, at110()); err != nil {
		t.Fatal(err)
	}
	w.epoch.running.Wait()
	if e, ok := w.Next(); !ok || e.RV != 103 || w.EndOfReplay() != 110 || w.Progress() > 100 {
		t.Fatalf("got %v, EndOfReplay %d, progress %d", e, w.EndOfReplay(), w.Progress())
	}
	if _, ok := w.Next(); ok || w.Progress() != 110 || w.EndOfReplay() != 110 {
		t.Fatalf("got EndOfReplay %d, progress %d", w.EndOfReplay(), w.Progress())
	}
	apply(t, l, Upsert, born(pod("a/enters", 111, "n2", "x"), "5"))
	if received := drained(w); len(received) != 1 || w.EndOfReplay() != 0 || w.Progress() != 111 {
		t.Errorf("got %v, EndOfReplay %d, progress %d", received, w.EndOfReplay(), w.Progress())
	}
}

// TestExactWatchersEndAtLostWindows: an exact watcher ends at a lost window, even when none of its objects changed.
func TestExactWatchersEndAtLostWindows(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	exact := func(start Start) (*Watcher, error) {
		return l.Watch(WatchOptions{Predicate: selecting(t, "none", "", ""), Start: start, Exact: true})
	}
	before, s := []*Watcher{}, current(t, l)
	for _, start := range []Start{AfterRV(100), FromNow(), InitialEvents(s)} {
		w, err := exact(start)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		before = append(before, w)
	}
	if err := replay(l, 110, at110()); err != nil {
		t.Fatal(err)
	}
	var expired *ExpiredError
	for i, w := range before {
		<-w.Wait()
		for _, ok := w.Next(); ok; _, ok = w.Next() {
		}
		if !errors.As(w.Err(), &expired) || expired.Oldest != 110 {
			t.Errorf("exact watcher %d: %v", i, w.Err())
		}
	}
	for _, start := range []Start{AfterRV(100), InitialEvents(s)} {
		if w, err := exact(start); !errors.As(err, &expired) {
			t.Errorf("watch across the lost window: got %v, %v, want *ExpiredError", w, err)
		}
	}
	for _, start := range []Start{AfterRV(110), InitialEvents(current(t, l)), FromNow()} {
		w, err := exact(start)
		if err != nil {
			t.Fatal(err)
		}
		if w.Next(); w.Err() != nil && start.initial == nil {
			t.Errorf("watch after the lost window: %v", w.Err())
		}
		w.Close()
	}
}
