package cache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// replay calls Replay with a list that the lane expects.
func replay(l *Lane, rv RV, list []*Object) error {
	defer l.Expect()()
	return l.Replay(rv, list)
}

// TestReplay replays lost windows of random histories. Every watcher ends with the correct content and received each
// change once, at the change's own RV (I11). Watches and reads inside the window fail (I12).
func TestReplay(t *testing.T) {
	g := newGenerator(t)
	for range settings.Amount(200, 400) {
		h := newTruth(g, 100)
		l := newTestLane(t, laneKinds()[g.one("watch cache", "packed")], h.rv, h.list()...)
		watchers := map[*Watcher]*client{}
		for range 6 {
			p := g.predicate()
			watchers[watch(t, l, p, AfterRV(h.rv))] = newClient(p, h.rv, h.there)
		}
		lost := 1 + g.IntN(60)
		for range lost {
			h.write()
		}
		inside := 100 + RV(1+g.IntN(lost))
		p := g.predicate()
		ahead := watch(t, l, p, AfterRV(inside))
		before := current(t, l)
		if err := replay(l, h.rv, h.list()); err != nil {
			t.Fatalf("replay of %d writes: %v", lost, err)
		}
		end := h.rv
		testReplayed(t, l, h, before, inside)
		for w, c := range watchers {
			follows(t, w, c, h)
			w.Close()
		}
		_, ok := ahead.Next()
		if expired := (*ExpiredError)(nil); inside < end && (ok || !errors.As(ahead.Err(), &expired) || expired.Oldest < end) {
			t.Fatalf("watch from %d, before the replay up to %d: got %v, want *ExpiredError", inside, h.rv, ahead.Err())
		} else if inside == end && ahead.Err() != nil {
			t.Fatalf("watch from the end of the lost window: %v", ahead.Err())
		}
		ahead.Close()
	}
}

// testReplayed reads after and inside a lost window that begins at 100.
func testReplayed(t *testing.T, l *Lane, h *truth, before *State, inside RV) {
	t.Helper()
	if err := newClient(everything(t), 0, contentOf(current(t, l))).holds(h.there); err != nil || current(t, l).RV() != h.rv {
		t.Fatalf("got State at %d, want %d: %v", current(t, l).RV(), h.rv, err)
	}
	if err := newClient(everything(t), 0, contentOf(at(t, l, 100))).holds(contentOf(before)); err != nil {
		t.Fatalf("State before the lost window: %v", err)
	}
	for rv := inside; rv < h.rv; rv += 7 {
		var expired *ExpiredError
		if _, err := l.At(t.Context(), rv, 0); !errors.As(err, &expired) || expired.Oldest != h.rv {
			t.Fatalf("at %d, inside the lost window up to %d: got %v, want *ExpiredError", rv, h.rv, err)
		}
		if w, err := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(rv)}); !errors.As(err, &expired) {
			t.Fatalf("watch from %d, inside the lost window up to %d: got %v, %v, want *ExpiredError", rv, h.rv, w, err)
		}
	}
	late := watch(t, l, everything(t), AfterRV(100)) // like a client whose connection broke before
	follows(t, late, newClient(everything(t), 100, contentOf(before)), h)
	late.Close()
	h.write()
	h.write()
	if err := replay(l, h.rv, h.list()); err != nil { // another lost window after the first
		t.Fatal(err)
	}
}

// follows reads all events of a watcher.
func follows(t *testing.T, w *Watcher, c *client, h *truth) {
	t.Helper()
	w.epoch.running.Wait()
	times := map[string]int{}
	for e, ok := w.Next(); ok; e, ok = w.Next() {
		if err := c.take(e); err != nil {
			t.Fatalf("watch of %s: %v", c.predicate, err)
		}
		times[fmt.Sprint(e.Type == Deleted, e.Object.Key(), shape.UID(e.Object.Item()))]++
		if _, in := w.epoch.history.lostWindowAt(e.RV); in && w.EndOfReplay() <= e.RV || w.EndOfReplay() > 0 && !matchesWindow(w, e.RV) {
			t.Fatalf("got %s with EndOfReplay %d", describe(e), w.EndOfReplay())
		}
	}
	if err := errors.Join(w.Err(), c.holds(h.there)); err != nil {
		t.Fatalf("watch of %s: %v", c.predicate, err)
	}
	if w.Progress() != h.rv {
		t.Fatalf("got progress %d, want %d", w.Progress(), h.rv)
	}
	for id, n := range times {
		if n > 2 { // two lost windows
			t.Fatalf("got %s %d times, want once per lost window", id, n)
		}
	}
}

// matchesWindow reports whether rv is in a lost window, or at its beginning, and EndOfReplay is the end of that window.
func matchesWindow(w *Watcher, rv RV) bool {
	return slices.ContainsFunc(w.epoch.history.held.Load().lostWindows, func(lost lostWindow) bool {
		return lost.after <= rv && rv < lost.upTo && w.EndOfReplay() == lost.upTo
	})
}

// TestReplayCutOff ends watches after each event of a lost window. A client that resumes at a server without the loss
// ends with the correct content. A client that resumes here does, too, or its watch fails.
func TestReplayCutOff(t *testing.T) {
	g, deletions := newGenerator(t), 0
	for range 100 {
		h := newTruth(g, 100)
		l, began, p := newTestLane(t, podOptions, h.rv, h.list()...), h.there, g.predicate()
		for range 2 + g.IntN(40) {
			h.write()
		}
		if err := replay(l, h.rv, h.list()); err != nil {
			t.Fatal(err)
		}
		for cut := 0; ; cut++ {
			w, c := watch(t, l, p, AfterRV(100)), newClient(p, 100, began)
			received := 0
			for e, ok := w.Next(); ok && received < cut; e, ok = w.Next() {
				if err := c.take(e); err != nil {
					t.Fatal(err)
				}
				if received++; e.Type == Deleted {
					deletions++
				}
			}
			w.Close()
			again, err := l.Watch(WatchOptions{Predicate: p, Start: AfterRV(c.rv)})
			if err == nil {
				back := client{predicate: p, rv: c.rv, store: maps.Clone(c.store)}
				for e, ok := again.Next(); ok; e, ok = again.Next() {
					back.resume([]entry{{rv: c.rv + 1, before: e.Object, now: map[bool]*Object{true: e.Object}[e.Type != Deleted]}})
				}
				if err := back.holds(h.there); err != nil {
					t.Fatalf("cut off after %d events at RV %d, resumed here: %v", cut, c.rv, err)
				}
				again.Close()
			} else if expired := (*ExpiredError)(nil); !errors.As(err, &expired) || c.rv == 100 {
				t.Fatalf("watch from %d, where the client was cut off: %v", c.rv, err)
			}
			c.resume(h.events)
			if err := c.holds(h.there); err != nil {
				t.Fatalf("cut off after %d events at RV %d, resumed elsewhere: %v", cut, c.rv, err)
			}
			if received < cut {
				break
			}
		}
	}
	if deletions == 0 {
		t.Error("no client received a deletion")
	}
}
