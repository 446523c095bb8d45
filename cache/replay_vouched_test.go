package cache

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestReplayAfterEventsThatWereUndone: at 110 the upstream has the content of 100 again, which Vouch confirmed; only
// some of the events between came. Watchers that received them receive the inverse events. Watches from 110 on receive
// none.
func TestReplayAfterEventsThatWereUndone(t *testing.T) {
	for name, vouch := range map[string]func(*Lane, *State){
		"vouched before the event": func(l *Lane, s *State) {
			l.Vouch(s, 110)
			apply(t, l, Upsert, born(pod("a/fleeting", 101, "n1", "x"), "9"))
		},
		"vouched after the event": func(l *Lane, s *State) {
			apply(t, l, Upsert, born(pod("a/fleeting", 101, "n1", "x"), "9"))
			l.Vouch(s, 110)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestLane(t, podOptions, 100, at100()...)
			s, all := current(t, l), watch(t, l, everything(t), AfterRV(100))
			l.Vouch(s, 104)
			vouch(l, s)
			ahead := watch(t, l, everything(t), AfterRV(110))
			if err := replay(l, 200, at100()[1:]); err != nil {
				t.Fatal(err)
			}
			equal(t, "from before", drained(all), []string{
				"ADDED a/fleeting@101 n1 x", "DELETED a/fleeting@101 n1 x", "DELETED a/same@110 n1 x",
			})
			equal(t, "from 110", drained(ahead), []string{"DELETED a/same@110 n1 x"})
			if _, there := at(t, l, 110).Get("a/fleeting"); there {
				t.Error("got the undone object at 110")
			}
			var expired *ExpiredError
			for _, rv := range []RV{102, 104, 109, 111, 199} { // 104: its State is no longer the written one
				if _, err := l.At(t.Context(), rv, 0); !errors.As(err, &expired) {
					t.Errorf("at %d: got %v, want *ExpiredError", rv, err)
				}
				if w, err := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(rv)}); !errors.As(err, &expired) {
					t.Errorf("watch from %d: got %v, %v, want *ExpiredError", rv, w, err)
				}
			}
		})
	}
}

// TestReplayAfterVouchesOutOfOrder: of two vouched States, the one with the higher RV is older. RVs between it and the
// written State are not reliable, so all watchers receive the deletion.
func TestReplayAfterVouchesOutOfOrder(t *testing.T) {
	for _, crossed := range []bool{false, true} {
		l := newTestLane(t, podOptions, 100, at100()...)
		before := current(t, l)
		if !crossed {
			l.Vouch(before, 120)
		}
		apply(t, l, Upsert, born(pod("a/fleeting", 105, "n1", "x"), "9"))
		written, err := l.Latest()
		if !crossed {
			written, err = l.state.Load(), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		at110 := l.Vouch(written, 110)
		if (at110 == nil) == crossed {
			t.Errorf("crossed %t: got %v from Vouch at 110", crossed, at110)
		}
		if crossed {
			l.Vouch(before, 120) // a late freshness check
		}
		watchers := map[string]*Watcher{"from 105": watch(t, l, everything(t), AfterRV(105))}
		if at110 != nil {
			watchers["from 110"] = watch(t, l, everything(t), AfterRV(110))
		}
		if err := replay(l, 130, at100()); err != nil {
			t.Fatal(err)
		}
		for name, w := range watchers {
			if received := drained(w); len(received) != 1 || !strings.HasPrefix(received[0], "DELETED a/fleeting@") {
				t.Errorf("crossed %t, %s: got %v, want one deletion", crossed, name, received)
			}
		}
		if at110 == nil {
			continue
		}
		if s, err := l.At(t.Context(), 110, 0); err == nil && s.Len() != at110.Len() {
			t.Errorf("at 110: got %d objects, want %d", s.Len(), at110.Len())
		}
	}
}

// TestReplayAfterVouch: at vouched RVs the content is known. Inside the lost window, reads and watches are served from
// these RVs only.
func TestReplayAfterVouch(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	list := watch(t, l, everything(t), AfterRV(100))
	s := l.Vouch(current(t, l), 102)
	first := watch(t, l, everything(t), AfterRV(102))
	initial := watch(t, l, selecting(t, "b", "", ""), InitialEvents(s))
	between := watch(t, l, everything(t), AfterRV(103))
	l.Vouch(s, 105)
	if err := replay(l, 110, at110()); !errors.Is(err, ErrOtherPast) {
		t.Fatalf("change at 103 below the vouched 105: got %v, want ErrOtherPast", err)
	}
	if err := replay(l, 110, at100()[1:]); err != nil {
		t.Fatal(err)
	}
	gone := []string{"DELETED a/same@105 n1 x"}
	for name, w := range map[string]*Watcher{"from the list": list, "from the vouched RV": first} {
		equal(t, name, drained(w), gone)
	}
	equal(t, "initial events", drained(initial), []string{"ADDED b/goes@70 n1 x", "BOOKMARK@102"})
	var expired *ExpiredError
	if _, ok := between.Next(); ok || !errors.As(between.Err(), &expired) || expired.Oldest != 110 || expired.Requested != 103 {
		t.Errorf("watch from 103: got %v, want *ExpiredError", between.Err())
	}
	for rv := RV(100); rv <= 110; rv++ {
		known := rv == 100 || rv == 102 || rv == 105 || rv == 110
		_, err := l.At(t.Context(), rv, 0)
		if w, watchErr := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(rv)}); known {
			if err != nil || watchErr != nil || rv < 110 && !slices.Equal(drained(w), gone) {
				t.Errorf("at %d, which is known: got %v, %v", rv, err, watchErr)
			}
			w.Close()
		} else if !errors.As(err, &expired) || !errors.As(watchErr, &expired) {
			t.Errorf("at %d, which is not known: got %v, %v, want *ExpiredError", rv, err, watchErr)
		}
	}
	if l.Vouch(s, 107) != nil {
		t.Error("Vouch accepted an old State inside the lost window")
	}
}
