package cache

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// togetherLane returns a lane of three objects at RV 10, of a resource with several deletions at one RV (semantics
// 4.4).
func togetherLane(t *testing.T) *Lane {
	return newTestLane(t, Options{ReadFromEtcd: true}, 10, pod("a/a", 5, "", ""), pod("a/b", 6, "", ""), pod("a/c", 7, "", ""))
}

func TestDeletesShareAnRV(t *testing.T) {
	l := togetherLane(t)
	w := watch(t, l, selecting(t, "", "", ""), AfterRV(10))
	for _, key := range []string{"a/a", "a/b", "a/c"} {
		apply(t, l, Delete, pod(key, 12, "", ""))
	}
	if err := l.Apply(Change{Delete, pod("a/b", 12, "", "")}); !errors.Is(err, ErrOutOfOrder) {
		t.Errorf("repeated delete: got %v, want ErrOutOfOrder", err)
	}
	equal(t, "events", drained(w), []string{"DELETED a/a@12  ", "DELETED a/b@12  ", "DELETED a/c@12  "})
	equal(t, "progress", w.Progress(), RV(11))
	apply(t, l, Upsert, pod("a/d", 13, "", ""))
	equal(t, "objects at 12", at(t, l, 12).Len(), 0)
	equal(t, "objects at 11", at(t, l, 11).Len(), 3)

	ordinary := newTestLane(t, podOptions, 10, pod("a/a", 5, "", ""), pod("a/b", 6, "", ""))
	apply(t, ordinary, Delete, pod("a/a", 11, "", ""))
	if err := ordinary.Apply(Change{Delete, pod("a/b", 11, "", "")}); !errors.Is(err, ErrLateDeletion) {
		t.Errorf("second delete at one RV: got %v, want an error", err)
	}
}

// TestListBetweenDeletesOfOneRV: a client that lists between the deletions and watches from the list's RV receives
// every deletion, and so does a new watch (I5, I10).
func TestListBetweenDeletesOfOneRV(t *testing.T) {
	l, p := togetherLane(t), selecting(t, "", "", "")
	apply(t, l, Delete, pod("a/a", 12, "", ""))
	s := current(t, l)
	equal(t, "RV of a list", s.RV(), RV(11))
	equal(t, "list", content(s), "a/a@5 a/b@6 a/c@7 ")
	initial, now := watch(t, l, p, InitialEvents(s)), watch(t, l, p, FromNow())
	behind := watch(t, l, p, AfterRV(12)) // a client that has 12 from another server has all of 12
	apply(t, l, Delete, pod("a/b", 12, "", ""))
	listed := watch(t, l, p, AfterRV(s.RV()))
	apply(t, l, Upsert, pod("a/d", 13, "", ""))
	all := []string{"DELETED a/a@12  ", "DELETED a/b@12  ", "ADDED a/d@13  "}
	equal(t, "watch from the list", drained(listed), all)
	equal(t, "watch from now", drained(now), all)
	equal(t, "watch with initial events", drained(initial),
		append([]string{"ADDED a/a@5  ", "ADDED a/b@6  ", "ADDED a/c@7  ", "BOOKMARK@11"}, all...))
	equal(t, "watch from 12", drained(behind), all[2:])
	equal(t, "list of 12", content(at(t, l, 12)), "a/c@7 ")
	equal(t, "list", content(current(t, l)), "a/c@7 a/d@13 ")
}

// TestAwaitingAnRVOfDeletes: a read that waits for the RV of deletions returns once no deletion can be missing (I10).
func TestAwaitingAnRVOfDeletes(t *testing.T) {
	for name, settle := range map[string]func(l *Lane){
		"event":    func(l *Lane) { apply(t, l, Upsert, pod("a/d", 13, "", "")) },
		"deletion": func(l *Lane) { apply(t, l, Delete, pod("a/c", 13, "", "")) },
		"absent":   func(l *Lane) { apply(t, l, Delete, pod("a/z", 13, "", "")) },
		"bookmark": func(l *Lane) { l.Progress(12) },
		"vouched": func(l *Lane) {
			s, _ := l.Latest()
			l.Vouch(s, 12)
		},
		"vouched above": func(l *Lane) {
			s, _ := l.Latest()
			l.Vouch(s, 20)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				l := togetherLane(t)
				apply(t, l, Delete, pod("a/a", 12, "", ""))
				var tooLarge *TooLargeError
				if _, err := l.WaitFor(t.Context(), 12, time.Minute); !errors.As(err, &tooLarge) || tooLarge.Current != 11 {
					t.Errorf("WaitFor(12): %v", err)
				}
				if _, err := l.At(t.Context(), 12, time.Minute); !errors.As(err, &tooLarge) || tooLarge.Current != 11 {
					t.Errorf("At(12): %v", err)
				}
				reached := make(chan *State)
				go func() {
					s, _ := l.WaitFor(t.Context(), 12, time.Hour)
					reached <- s
				}()
				synctest.Wait()
				apply(t, l, Delete, pod("a/b", 12, "", ""))
				settle(l)
				if s := <-reached; s.RV() < 12 || s.Len() > 2 || s != current(t, l) {
					t.Errorf("got State at %d with %d objects", s.RV(), s.Len())
				}
			})
		})
	}
}

// TestVouchOverDeletesOfOneRV: a vouched RV says nothing about the RV of deletions below it (I10).
func TestVouchOverDeletesOfOneRV(t *testing.T) {
	l := togetherLane(t)
	vouched := l.Vouch(current(t, l), 20)
	apply(t, l, Delete, pod("a/a", 12, "", ""))
	if s := current(t, l); s != vouched {
		t.Errorf("got State at %d", s.RV())
	}
	var tooLarge *TooLargeError
	if s, err := l.At(t.Context(), 12, 0); !errors.As(err, &tooLarge) {
		t.Errorf("At(12), where more deletions may come: got %v, %v, want an error", s, err)
	}
	equal(t, "list of 11", content(at(t, l, 11)), "a/a@5 a/b@6 a/c@7 ")
	apply(t, l, Upsert, pod("a/a", 19, "", ""))
	equal(t, "list of 12", content(at(t, l, 12)), "a/b@6 a/c@7 ")
}
