package cache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// bridge gives a lane the list that it expects.
func bridge(l *Lane, rv RV, list []*Object) error {
	defer l.Expect()()
	return l.Replay(rv, list)
}

// TestBridge bridges gaps in random histories. Whoever watches ends with what is there, and was told of each change
// once, of what has changed at its own RV (I11); whoever starts or reads inside the gap is refused (I12).
func TestBridge(t *testing.T) {
	g := newGenerator(t)
	for range 400 {
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
		if err := bridge(l, h.rv, h.list()); err != nil {
			t.Fatalf("a gap of %d writes: %v", lost, err)
		}
		end := h.rv
		testBridged(t, l, h, before, inside)
		for w, c := range watchers {
			follows(t, w, c, h)
			w.Close()
		}
		_, told := ahead.Next()
		if expired := (*ExpiredError)(nil); inside < end && (told || !errors.As(ahead.Err(), &expired) || expired.Oldest < end) {
			t.Fatalf("a watch that began at %d before the gap to %d was known: %v", inside, h.rv, ahead.Err())
		} else if inside == end && ahead.Err() != nil {
			t.Fatalf("a watch from the end of the gap: %v", ahead.Err())
		}
		ahead.Close()
	}
}

// testBridged reads behind and inside a gap that begins at 100.
func testBridged(t *testing.T, l *Lane, h *truth, before *State, inside RV) {
	t.Helper()
	if err := newClient(everything(t), 0, contentOf(current(t, l))).holds(h.there); err != nil || current(t, l).RV() != h.rv {
		t.Fatalf("the State at %d of %d: %v", current(t, l).RV(), h.rv, err)
	}
	if err := newClient(everything(t), 0, contentOf(at(t, l, 100))).holds(contentOf(before)); err != nil {
		t.Fatalf("the State before the gap: %v", err)
	}
	for rv := inside; rv < h.rv; rv += 7 {
		var expired *ExpiredError
		if _, err := l.At(t.Context(), rv, 0); !errors.As(err, &expired) || expired.Oldest != h.rv {
			t.Fatalf("at %d, inside the gap to %d: %v", rv, h.rv, err)
		}
		if w, err := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(rv)}); !errors.As(err, &expired) {
			t.Fatalf("a watch from %d, inside the gap to %d: %v, %v", rv, h.rv, w, err)
		}
	}
	late := watch(t, l, everything(t), AfterRV(100)) // as one whose connection broke off before
	follows(t, late, newClient(everything(t), 100, contentOf(before)), h)
	late.Close()
	h.write()
	h.write()
	if err := bridge(l, h.rv, h.list()); err != nil { // another gap, behind the first
		t.Fatal(err)
	}
}

// follows reads all that a watcher has to say.
func follows(t *testing.T, w *Watcher, c *client, h *truth) {
	t.Helper()
	w.epoch.running.Wait()
	told := map[string]int{}
	for e, ok := w.Next(); ok; e, ok = w.Next() {
		if err := c.take(e); err != nil {
			t.Fatalf("watch of %s: %v", c.predicate, err)
		}
		told[fmt.Sprint(e.Type == Deleted, e.Object.Key(), shape.UID(e.Object.Item()))]++
		if _, in := w.epoch.history.lostWindowAt(e.RV); in && w.EndOfReplay() <= e.RV || w.EndOfReplay() > 0 && !lands(w, e.RV) {
			t.Fatalf("%s lands at %d", describe(e), w.EndOfReplay())
		}
	}
	if err := errors.Join(w.Err(), c.holds(h.there)); err != nil {
		t.Fatalf("watch of %s: %v", c.predicate, err)
	}
	if w.Progress() != h.rv {
		t.Fatalf("progress is %d, the gap ended at %d", w.Progress(), h.rv)
	}
	for id, n := range told {
		if n > 2 { // two gaps
			t.Fatalf("%s was told %d times", id, n)
		}
	}
}

// lands tells whether the watcher stands in a gap, or behind what it is told first of it, and lands at its end.
func lands(w *Watcher, rv RV) bool {
	return slices.ContainsFunc(w.epoch.history.held.Load().lostWindows, func(g lostWindow) bool {
		return g.after <= rv && rv < g.upTo && w.EndOfReplay() == g.upTo
	})
}

// TestBridgeCutOff has clients cut off after each event of a gap. Wherever that is, one that goes on at a server which
// missed nothing ends with what is there, and so does one that comes back, unless it is told that it cannot.
func TestBridgeCutOff(t *testing.T) {
	g, deletions := newGenerator(t), 0
	for range 100 {
		h := newTruth(g, 100)
		l, began, p := newTestLane(t, podOptions, h.rv, h.list()...), h.there, g.predicate()
		for range 2 + g.IntN(40) {
			h.write()
		}
		if err := bridge(l, h.rv, h.list()); err != nil {
			t.Fatal(err)
		}
		for cut := 0; ; cut++ {
			w, c := watch(t, l, p, AfterRV(100)), newClient(p, 100, began)
			told := 0
			for e, ok := w.Next(); ok && told < cut; e, ok = w.Next() {
				if err := c.take(e); err != nil {
					t.Fatal(err)
				}
				if told++; e.Type == Deleted {
					deletions++
				}
			}
			w.Close()
			again, err := l.Watch(WatchOptions{Predicate: p, Start: AfterRV(c.rv)})
			if err == nil {
				back := client{predicate: p, rv: c.rv, store: maps.Clone(c.store)}
				for e, ok := again.Next(); ok; e, ok = again.Next() {
					back.goOn([]entry{{rv: c.rv + 1, before: e.Object, now: map[bool]*Object{true: e.Object}[e.Type != Deleted]}})
				}
				if err := back.holds(h.there); err != nil {
					t.Fatalf("cut off after %d events, at %d, and back: %v", cut, c.rv, err)
				}
				again.Close()
			} else if expired := (*ExpiredError)(nil); !errors.As(err, &expired) || c.rv == 100 {
				t.Fatalf("a watch from %d, where a client was cut off: %v", c.rv, err)
			}
			c.goOn(h.told)
			if err := c.holds(h.there); err != nil {
				t.Fatalf("cut off after %d events, at %d, and on elsewhere: %v", cut, c.rv, err)
			}
			if told < cut {
				break
			}
		}
	}
	if deletions == 0 {
		t.Error("no client was told of a deletion")
	}
}
