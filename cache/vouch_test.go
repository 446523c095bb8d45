package cache

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVouch: readers see the vouched State, and the writer continues from the written one.
func TestVouch(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/x", 5, "n1", ""))
	before, err := l.State()
	if err != nil {
		t.Fatal(err)
	}
	vouched := l.Vouch(before, 20)
	if now, _ := l.State(); now != vouched || now.RV() != 20 || now.Len() != 1 {
		t.Fatalf("got State with %d objects at %d", now.Len(), now.RV())
	}
	if at, _ := l.Position(); at != 10 {
		t.Errorf("got Position %d", at)
	}
	if s, err := l.WaitFor(t.Context(), 20, 0); err != nil || s != vouched {
		t.Errorf("WaitFor(20): %v", err)
	}
	if s, err := l.At(t.Context(), 20, 0); err != nil || s != vouched {
		t.Errorf("At(20): %v", err)
	}
	if s, err := l.At(t.Context(), 10, 0); err != nil || s.RV() != 10 {
		t.Errorf("At(10): %v", err)
	}
	var tooLarge *TooLargeError
	if _, err := l.At(t.Context(), 15, 0); !errors.As(err, &tooLarge) {
		t.Errorf("At(15), which is not vouched for: got %v, want an error", err)
	}
	// An object that was created and deleted in between concerns only watches that started before.
	since, behind := watch(t, l, selecting(t, "", "", ""), AfterRV(10)), watch(t, l, selecting(t, "", "", ""), AfterRV(20))
	initial := watch(t, l, selecting(t, "", "", ""), InitialEvents(vouched))
	apply(t, l, Upsert, pod("a/y", 12, "n1", ""))
	if now, _ := l.State(); now != vouched {
		t.Errorf("got State at lower RV %d", now.RV())
	}
	apply(t, l, Delete, pod("a/y", 13, "n1", ""))
	apply(t, l, Upsert, pod("a/z", 21, "n1", ""))
	if now, _ := l.State(); now.RV() != 21 || now.Len() != 2 {
		t.Errorf("got State with %d objects at %d", now.Len(), now.RV())
	}
	for name, c := range map[string]struct {
		watcher *Watcher
		want    []string
	}{
		"before":         {since, []string{"ADDED a/y@12 n1 ", "DELETED a/y@13 n1 ", "ADDED a/z@21 n1 "}},
		"behind":         {behind, []string{"ADDED a/z@21 n1 "}},
		"initial events": {initial, []string{"ADDED a/x@5 n1 ", "BOOKMARK@20", "ADDED a/z@21 n1 "}},
	} {
		if diff := cmp.Diff(c.want, drained(c.watcher)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if s, err := l.At(t.Context(), 20, 0); err != nil || s.RV() != 20 || s.Len() != 1 {
		t.Errorf("At(20) after the events: %v", err)
	}
}

func TestVouchForThePast(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/x", 5, "n1", ""))
	old, _ := l.State()
	apply(t, l, Upsert, pod("a/x", 30, "n1", ""))
	now, _ := l.State()
	if s := l.Vouch(old, 20); s.RV() != 20 {
		t.Errorf("got vouched State at %d", s.RV())
	}
	if s, _ := l.State(); s != now {
		t.Errorf("got State at lower RV %d", s.RV())
	}
	l.Vouch(now, 40)
	l.Replace(35, now.Shape(), nil) // an upstream that was restored from a backup
	if s, _ := l.State(); s.RV() != 35 {
		t.Errorf("got State at %d after a relist", s.RV())
	}
	if s := l.Vouch(now, 50); s != nil {
		t.Errorf("got vouched State of a past epoch at %d, want nil", s.RV())
	}
	if s, _ := l.State(); s.RV() != 35 {
		t.Errorf("got State of a past epoch at %d", s.RV())
	}
	l.Close()
	if _, err := l.State(); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestVouchWhileAListIsExpected: an expected list may be older than a State vouched for in the meantime.
func TestVouchWhileAListIsExpected(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/x", 5, "n1", ""))
	now, _ := l.State()
	over := l.Expect()
	if s := l.Vouch(now, 20); s != nil {
		t.Errorf("got vouched State at %d, want nil", s.RV())
	}
	if s, _ := l.State(); s != now {
		t.Errorf("got State at %d", s.RV())
	}
	over()
	if s := l.Vouch(now, 20); s == nil || s.RV() != 20 {
		t.Error("got nil after the list is no longer expected")
	}
}

// TestVouchConcurrently: readers never see a lower RV while other goroutines vouch and the lane advances (I1).
func TestVouchConcurrently(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/x", 5, "n1", ""))
	l.verifying = false // verifying would take most of the time
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			last := RV(0)
			for {
				s, err := l.State()
				if err != nil || s.RV() < last {
					t.Errorf("got State at %d after %d: %v", s.RV(), last, err)
					return
				}
				last = s.RV()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for rv := RV(20); rv < 40_000; rv += 10 {
		s, _ := l.State()
		l.Vouch(s, rv)
		apply(t, l, Upsert, pod("a/x", rv+5, "n1", ""))
	}
	close(done)
	readers.Wait()
}
