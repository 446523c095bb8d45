package limit

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// answers are those of a test; each notes when it has to end.
type answers struct {
	*Stalls
	ended []string
}

type answer struct {
	of    *answers
	name  string
	taken time.Time
}

func (a *answer) TakenAt() time.Time { return a.taken }

func (a *answer) End() { a.of.ended = append(a.of.ended, a.name) }

func (s *answers) enter(key, name string, bytes int64) (*answer, func(), error) {
	one := &answer{of: s, name: name, taken: time.Now()}
	leave, err := s.Enter(key, bytes, one)
	return one, leave, err
}

func TestTheOldestStalledEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &answers{Stalls: NewStalls(StallBounds{One: 3, All: 5, Bytes: 1000})}
		enter := func(key, name string, bytes int64, want ...string) (*answer, func()) {
			t.Helper()
			s.ended = nil
			one, leave, err := s.enter(key, name, bytes)
			if err != nil || !slices.Equal(s.ended, want) {
				t.Errorf("%s enters: %v, for it end %q", name, err, s.ended)
			}
			return one, leave
		}
		_, leave := enter("a", "a1", 1)
		moving, _ := enter("a", "a2", 1)
		enter("a", "a3", 1)
		if _, _, err := s.enter("a", "a4", 1); !errors.Is(err, ErrBusy) {
			t.Errorf("where all have just taken something: %v", err)
		}
		<-time.After(stillAfter)
		moving.taken = time.Now()
		enter("a", "a4", 1, "a1")
		leave() // which has ended
		enter("b", "b1", 1)
		enter("b", "b2", 1)
		enter("c", "c1", 1, "a3") // one that moves stays
		if now := s.Load(); now != (Load{Taken: 5, All: 5}) {
			t.Errorf("%+v", now)
		}
	})
}

func TestStalledAreBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &answers{Stalls: NewStalls(StallBounds{One: 100, All: 100, Bytes: 1000})}
		var leaves []func()
		for i := range 20 {
			_, leave, err := s.enter("a", strconv.Itoa(i), 100)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
			<-time.After(stillAfter)
		}
		if s.bytes != 1000 || len(s.ended) != 10 || s.ended[0] != "0" {
			t.Errorf("%d bytes, ended: %q", s.bytes, s.ended)
		}
		for _, leave := range leaves {
			leave()
			leave()
		}
		if s.bytes != 0 || len(s.lines) != 0 || s.Load().Taken != 0 {
			t.Errorf("%d bytes of %d keys are left", s.bytes, len(s.lines))
		}
	})
}
