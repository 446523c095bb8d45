package cache

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestPast: another lane that is told what a lane holds has the same content and the same history.
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
	other := newTestLane(t, podOptions, past.Base.RV(), slices.Collect(past.Base.Objects(Span{}))...)
	for c := range past.Events {
		if err := other.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	other.Progress(past.RV)
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
