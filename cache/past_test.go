package cache

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestPast: a lane restored from another lane's Past has the same content and the same history.
func TestPast(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/a", 5, "", ""), pod("a/b", 6, "", ""))
	apply(t, l, Upsert, pod("a/a", 11, "", ""))
	apply(t, l, Upsert, pod("a/c", 12, "", ""))
	apply(t, l, Delete, pod("a/b", 14, "", ""))
	l.Progress(17)
	past, err := l.Past()
	if err != nil || past.Base.RV() != 10 || past.RV != 17 || past.Len != 3 {
		t.Fatalf("%+v, %v", past, err)
	}
	other := rebuilt(t, l)
	for _, rv := range []RV{10, 11, 12, 13, 14, 17} {
		var held [2]string
		for i, lane := range []*Lane{l, other} {
			s, err := lane.At(t.Context(), rv, 0)
			if err != nil {
				t.Fatal(err)
			}
			for o := range s.Objects(Span{}) {
				held[i] += fmt.Sprintf("%s@%d ", o.Key(), o.RV)
			}
		}
		equal(t, fmt.Sprint("content at ", rv), held[1], held[0])
	}
	if _, err := NewLane(podOptions).Past(); !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
}

// rebuilt returns a lane that was restored from the past of l.
func rebuilt(t *testing.T, l *Lane) *Lane {
	t.Helper()
	past, err := l.Past()
	if err != nil {
		t.Fatal(err)
	}
	other := NewLane(podOptions)
	other.verifying = true
	r := other.Fill().Restore(past.Base.RV(), shape, slices.Collect(past.Base.Objects(Span{})))
	for c := range past.Events {
		if err := r.Apply(c, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Show(past.RV); err != nil {
		t.Fatal(err)
	}
	return other
}

// TestPastOfLostWindows: a restored lane begins after the last lost window. It refuses watches from below its end,
// whatever the differences were.
func TestPastOfLostWindows(t *testing.T) {
	for name, list := range map[string][]*Object{
		"nothing":            at100(),
		"a deletion":         at100()[1:],
		"a change":           append(at100()[1:], born(pod("a/same", 105, "n2", "x"), "1")),
		"an addition":        append(at100(), pod("a/new", 110, "n1", "x")),
		"a change of labels": append(at100()[1:], born(pod("a/same", 110, "n1", "y"), "1")),
	} {
		for _, behind := range []bool{false, true} {
			l := newTestLane(t, podOptions, 100, at100()...)
			apply(t, l, Upsert, pod("a/before", 101, "n1", "x"))
			l.Progress(102)
			if err := replay(l, 110, append(slices.Clone(list), pod("a/before", 101, "n1", "x"))); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if behind {
				apply(t, l, Upsert, pod("a/behind", 112, "n1", "x"))
			}
			other := rebuilt(t, l)
			var expired *ExpiredError
			for rv := RV(100); rv < 110; rv++ {
				if _, err := other.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(rv)}); !errors.As(err, &expired) {
					t.Errorf("%s: a watch from %d: %v", name, rv, err)
				}
			}
			equal(t, name+": content", content(current(t, other)), content(current(t, l)))
			equal(t, name+": events after 110", drained(watch(t, other, everything(t), AfterRV(110))), drained(watch(t, l, everything(t), AfterRV(110))))
		}
	}
}

// TestPastOmitsVouchedRVs: events below a vouched RV may be missing, so a restored lane must not be complete there.
func TestPastOmitsVouchedRVs(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/a", 5, "", ""))
	l.Vouch(current(t, l), 20)
	if other := rebuilt(t, l); current(t, other).RV() != 10 {
		t.Errorf("restored lane: got RV %d, want 10", current(t, other).RV())
	}
	apply(t, l, Upsert, pod("a/x", 12, "", ""))
	if other := rebuilt(t, l); current(t, other).RV() != 12 || current(t, other).Len() != 2 {
		t.Errorf("restored lane: got RV %d with %d objects, want 12 and 2", current(t, other).RV(), current(t, other).Len())
	}
}
