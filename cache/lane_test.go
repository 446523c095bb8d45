package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

func TestNotReadyBeforeFirstList(t *testing.T) {
	l := NewLane(Options{})
	p := selecting(t, "", "", "")
	if _, err := l.State(); !errors.Is(err, ErrNotReady) {
		t.Errorf("State: %v", err)
	}
	if _, err := l.WaitFor(t.Context(), 1, time.Hour); !errors.Is(err, ErrNotReady) {
		t.Errorf("WaitFor: %v", err)
	}
	if _, err := l.Watch(WatchOptions{Predicate: p}); !errors.Is(err, ErrNotReady) {
		t.Errorf("Watch: %v", err)
	}
	if err := l.Apply(Change{Object: pod("a/a", 1, "", "")}); !errors.Is(err, ErrNotReady) {
		t.Errorf("Apply: %v", err)
	}
	l.Progress(5)
	l.Replace(1, shape, nil)
	equal(t, "RV of the empty list", current(t, l).RV(), RV(1))
}

// TestApplyRefusesRepeats: a repeat from a second stream changes neither the RV nor the content (I1).
func TestApplyRefusesRepeats(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/a", 5, "", ""), pod("a/b", 6, "", ""))
	apply(t, l, Upsert, pod("a/a", 11, "", ""))
	l.Progress(15)
	l.Progress(12)
	equal(t, "RV after a bookmark at a lower RV", current(t, l).RV(), RV(15))
	for _, c := range []Change{
		{Upsert, pod("a/c", 11, "", "")},
		{Upsert, pod("a/c", 15, "", "")},
		{Upsert, pod("a/a", 15, "", "")},
		{Delete, pod("a/a", 14, "", "")},
		{Delete, pod("a/z", 15, "", "")},
	} {
		if err := l.Apply(c); !errors.Is(err, ErrOutOfOrder) {
			t.Errorf("%s at %d: %v", c.Object.Key(), c.Object.RV, err)
		}
	}
	equal(t, "objects", current(t, l).Len(), 2)
}

func TestDeleteOfUnknownKeyAdvancesTheRV(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/a", 5, "", ""))
	w := watch(t, l, selecting(t, "", "", ""), FromNow())
	apply(t, l, Delete, pod("a/x", 11, "", ""))
	equal(t, "RV", current(t, l).RV(), RV(11))
	equal(t, "events", drained(w), []string(nil))
	equal(t, "progress", w.Progress(), RV(11))
}

func TestReplaceKeepsTheNewestOfARepeatedKey(t *testing.T) {
	mine := []*Object{pod("a/b", 5, "old", ""), pod("a/c", 3, "", ""), pod("a/b", 6, "new", ""), pod("a/a", 1, "", "")}
	s := current(t, newTestLane(t, podOptions, 10, mine...))
	equal(t, "objects", s.Len(), 3)
	o, _ := s.Get("a/b")
	equal(t, "RV of the repeated key", o.RV, RV(6))
	equal(t, "the caller's slice", keys(mine), []string{"a/b", "a/c", "a/b", "a/a"})
}

// TestAt checks exact reads: the content after the last event at or below n, with RV n (semantics 2.1).
func TestAt(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/a", 5, "n1", ""))
	apply(t, l, Upsert, pod("a/b", 12, "n1", ""))
	apply(t, l, Upsert, pod("a/a", 15, "n2", ""))
	apply(t, l, Delete, pod("a/b", 17, "n1", ""))
	l.Progress(30)
	for _, c := range []struct {
		rv   RV
		want string
	}{{10, "a/a@5 "}, {11, "a/a@5 "}, {12, "a/a@5 a/b@12 "}, {14, "a/a@5 a/b@12 "}, {15, "a/a@15 a/b@12 "}, {16, "a/a@15 a/b@12 "},
		{17, "a/a@15 "}, {25, "a/a@15 "}, {30, "a/a@15 "}} {
		s := at(t, l, c.rv)
		equal(t, "RV", s.RV(), c.rv)
		equal(t, fmt.Sprint("content at ", c.rv), content(s), c.want)
	}
	_, err := l.At(t.Context(), 9, 0)
	wantExpired(t, err, ExpiredError{Requested: 9, Oldest: 10})
	_, err = l.At(t.Context(), 31, 0)
	var tooLarge *TooLargeError
	if !errors.As(err, &tooLarge) || *tooLarge != (TooLargeError{Requested: 31, Current: 30}) {
		t.Errorf("at 31: %v", err)
	}
}

func content(s *State) (text string) {
	for o := range s.Objects(Span{}) {
		text += fmt.Sprintf("%s@%d ", o.Key(), o.RV)
	}
	return text
}

func wantExpired(t *testing.T, err error, want ExpiredError) {
	t.Helper()
	var expired *ExpiredError
	if !errors.As(err, &expired) || *expired != want {
		t.Errorf("got %v, want %v", err, &want)
	}
}

func TestWaitFor(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newTestLane(t, podOptions, 10)
		type answer struct {
			rv  RV
			err error
		}
		answers := make(chan answer, 10)
		ask := func(ctx context.Context, rv RV, wait time.Duration) {
			go func() {
				s, err := l.WaitFor(ctx, rv, wait)
				if err != nil {
					answers <- answer{err: err}
					return
				}
				answers <- answer{rv: s.RV()}
			}()
			synctest.Wait()
		}
		ask(t.Context(), 10, 0)
		equal(t, "RV that was reached before", (<-answers).rv, RV(10))

		ask(t.Context(), 13, time.Minute)
		ask(t.Context(), 13, time.Minute)
		ask(t.Context(), 20, time.Minute)
		l.Progress(12)
		synctest.Wait()
		equal(t, "answers before 13", len(answers), 0)
		apply(t, l, Upsert, pod("a/a", 14, "", ""))
		synctest.Wait()
		equal(t, "answers at 14", len(answers), 2)
		equal(t, "first RV", (<-answers).rv, RV(14))
		equal(t, "second RV", (<-answers).rv, RV(14))
		l.Replace(21, shape, nil)
		equal(t, "RV after a relist", (<-answers).rv, RV(21))

		began := time.Now()
		ask(t.Context(), 99, 3*time.Second)
		var tooLarge *TooLargeError
		if err := (<-answers).err; !errors.As(err, &tooLarge) || *tooLarge != (TooLargeError{99, 21}) {
			t.Errorf("after the timeout: %v", err)
		}
		equal(t, "waited", time.Since(began), 3*time.Second)

		ctx, cancel := context.WithCancel(t.Context())
		ask(ctx, 99, time.Minute)
		cancel()
		if err := (<-answers).err; !errors.Is(err, context.Canceled) {
			t.Errorf("after cancel: %v", err)
		}
		ask(t.Context(), 99, time.Minute)
		l.Close()
		if err := (<-answers).err; !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		equal(t, "RVs still awaited", len(l.waiters.byRV), 0)
		equal(t, "lowest RV awaited", l.waiters.lowest.Load(), uint64(noneAwaited))
	})
}

func TestClose(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/a", 5, "", ""))
	l.Close()
	l.Close()
	if _, err := l.State(); !errors.Is(err, ErrClosed) {
		t.Errorf("State: %v", err)
	}
	if err := l.Apply(Change{Object: pod("a/b", 11, "", "")}); !errors.Is(err, ErrClosed) {
		t.Errorf("Apply: %v", err)
	}
	l.Replace(20, shape, nil)
	if _, err := l.Watch(WatchOptions{Predicate: selecting(t, "", "", "")}); !errors.Is(err, ErrClosed) {
		t.Errorf("Watch: %v", err)
	}
}

func TestParseRV(t *testing.T) {
	for text, want := range map[string]RV{"0": 0, "1": 1, "18446744073709551615": 1<<64 - 1} {
		got, err := ParseRV(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("ParseRV(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "+1", "abc", "1 ", "18446744073709551616"} {
		if got, err := ParseRV(text); err == nil {
			t.Errorf("ParseRV(%q) = %v", text, got)
		}
	}
}
