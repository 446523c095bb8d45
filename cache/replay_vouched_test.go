package cache

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestBridgeBehindWhatIsCancelledOut: at 110 the upstream is as it was at 100, as was shown by other means; the events
// in between came in part. Watches that have seen them are told that they were cancelled out, and those from 110 on
// have nothing to be told of.
func TestBridgeBehindWhatIsCancelledOut(t *testing.T) {
	for name, vouch := range map[string]func(*Lane, *State){
		"first": func(l *Lane, s *State) {
			l.Vouch(s, 110)
			apply(t, l, Upsert, born(pod("a/fleeting", 101, "n1", "x"), "9"))
		},
		"behind": func(l *Lane, s *State) {
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
			if err := bridge(l, 200, at100()[1:]); err != nil {
				t.Fatal(err)
			}
			equal(t, "from before", drained(all), []string{
				"ADDED a/fleeting@101 n1 x", "DELETED a/fleeting@101 n1 x", "DELETED a/same@110 n1 x",
			})
			equal(t, "from 110", drained(ahead), []string{"DELETED a/same@110 n1 x"})
			if _, there := at(t, l, 110).Get("a/fleeting"); there {
				t.Error("what was cancelled out is there at 110")
			}
			var expired *ExpiredError
			for _, rv := range []RV{102, 104, 109, 111, 199} { // 104: what was there is not the State any more
				if _, err := l.At(t.Context(), rv, 0); !errors.As(err, &expired) {
					t.Errorf("at %d: %v", rv, err)
				}
				if w, err := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(rv)}); !errors.As(err, &expired) {
					t.Errorf("a watch from %d: %v, %v", rv, w, err)
				}
			}
		})
	}
}

// TestBridgeBehindProofsThatCross: of two proofs the one for the later version was made of an earlier State. What was
// vouched for between that and what was written is not to be relied upon, and what is gone is told to all.
func TestBridgeBehindProofsThatCross(t *testing.T) {
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
			t.Errorf("crossed before %t: what was vouched for at 110 is %v", crossed, at110)
		}
		if crossed {
			l.Vouch(before, 120) // an answer that comes last
		}
		watchers := map[string]*Watcher{"from 105": watch(t, l, everything(t), AfterRV(105))}
		if at110 != nil {
			watchers["from 110"] = watch(t, l, everything(t), AfterRV(110))
		}
		if err := bridge(l, 130, at100()); err != nil {
			t.Fatal(err)
		}
		for name, w := range watchers {
			if said := drained(w); len(said) != 1 || !strings.HasPrefix(said[0], "DELETED a/fleeting@") {
				t.Errorf("crossed before %t, %s: %v", crossed, name, said)
			}
		}
		if at110 == nil {
			continue
		}
		if s, err := l.At(t.Context(), 110, 0); err == nil && s.Len() != at110.Len() {
			t.Errorf("at 110 there are %d objects, and were %d", s.Len(), at110.Len())
		}
	}
}

// What was vouched for is known inside the gap: clients that read there go on, and nobody else does.
func TestBridgeBehindWhatWasVouchedFor(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	list := watch(t, l, everything(t), AfterRV(100))
	s := l.Vouch(current(t, l), 102)
	first := watch(t, l, everything(t), AfterRV(102))
	initial := watch(t, l, selecting(t, "b", "", ""), InitialEvents(s))
	between := watch(t, l, everything(t), AfterRV(103))
	l.Vouch(s, 105)
	if err := bridge(l, 110, at110()); !errors.Is(err, ErrOtherPast) {
		t.Fatalf("at 103 something has changed, and at 105 nothing had: %v", err)
	}
	if err := bridge(l, 110, at100()[1:]); err != nil {
		t.Fatal(err)
	}
	gone := []string{"DELETED a/same@105 n1 x"}
	for name, w := range map[string]*Watcher{"since the list": list, "since it was vouched for": first} {
		equal(t, name, drained(w), gone)
	}
	equal(t, "initial events", drained(initial), []string{"ADDED b/goes@70 n1 x", "BOOKMARK@102"})
	var expired *ExpiredError
	if _, told := between.Next(); told || !errors.As(between.Err(), &expired) || expired.Oldest != 110 || expired.Requested != 103 {
		t.Errorf("since between: %v", between.Err())
	}
	for rv := RV(100); rv <= 110; rv++ {
		known := rv == 100 || rv == 102 || rv == 105 || rv == 110
		_, err := l.At(t.Context(), rv, 0)
		if w, watchErr := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(rv)}); known {
			if err != nil || watchErr != nil || rv < 110 && !slices.Equal(drained(w), gone) {
				t.Errorf("at %d, which is known: %v, %v", rv, err, watchErr)
			}
			w.Close()
		} else if !errors.As(err, &expired) || !errors.As(watchErr, &expired) {
			t.Errorf("at %d, which is not known: %v, %v", rv, err, watchErr)
		}
	}
	if l.Vouch(s, 107) != nil {
		t.Error("an old State was vouched for inside the gap")
	}
}
