package limit

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// answers adds responses to Stalls and records which of them were ended.
type answers struct {
	*Stalls
	ended []string
	looks int // calls of TakenAt
}

type answer struct {
	of    *answers
	name  string
	taken time.Time
}

func (a *answer) TakenAt() time.Time { a.of.looks++; return a.taken }

func (a *answer) End() { a.of.ended = append(a.of.ended, a.name) }

func (s *answers) enter(key, name string, bytes int64) (*answer, func(), error) {
	one := &answer{of: s, name: name, taken: time.Now()}
	leave, err := s.Enter(key, bytes, one)
	return one, leave, err
}

func TestOldestIdleResponseEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &answers{Stalls: NewStalls(StallBounds{One: 3, All: 5, Bytes: 1000})}
		enter := func(key, name string, bytes int64, want ...string) (*answer, func()) {
			t.Helper()
			s.ended = nil
			one, leave, err := s.enter(key, name, bytes)
			if err != nil || !slices.Equal(s.ended, want) {
				t.Errorf("%s: got %v and ended %q, want ended %q", name, err, s.ended, want)
			}
			return one, leave
		}
		_, leave := enter("a", "a1", 1)
		moving, _ := enter("a", "a2", 1)
		enter("a", "a3", 1)
		if _, _, err := s.enter("a", "a4", 1); !errors.Is(err, ErrBusy) {
			t.Errorf("when all clients read: got %v, want ErrBusy", err)
		}
		<-time.After(idleAfter)
		moving.taken = time.Now()
		enter("a", "a4", 1, "a1")
		leave() // has no effect: a1 has ended
		enter("b", "b1", 1)
		enter("b", "b2", 1)
		enter("c", "c1", 1, "a3") // a2 stays, because its client reads
		if now := s.Load(); now != (Load{Taken: 5, All: 5}) {
			t.Errorf("got %+v, want 5 of 5 taken", now)
		}
	})
}

// A response that cannot enter ends no other response, whether the bound of its key or that of all bytes is reached.
func TestRefusedResponseEndsNoOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &answers{Stalls: NewStalls(StallBounds{One: 2, All: 100, Bytes: 1000})}
		for _, name := range []string{"a1", "a2", "b1", "b2"} {
			if _, _, err := s.enter(name[:1], name, 100); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(idleAfter)
		moving, leave, err := s.enter("c", "c1", 500)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(idleAfter)
		moving.taken = time.Now()
		before := s.Load()
		for _, key := range []string{"a", "d"} {
			if _, _, err := s.enter(key, "large", 600); !errors.Is(err, ErrBusy) || len(s.ended) != 0 {
				t.Errorf("%s: got %v and ended %q, want ErrBusy and none", key, err, s.ended)
			}
		}
		if now := s.Load(); now != before || s.bytes != 900 {
			t.Errorf("got %+v and %d bytes, want %+v and 900 bytes", now, s.bytes, before)
		}
		leave()
		if _, _, err := s.enter("a", "large", 700); err != nil || !slices.Equal(s.ended, []string{"a1"}) {
			t.Errorf("got %v and ended %q, want a1 ended", err, s.ended)
		}
	})
}

// Of many keys with one response each, a few responses are idle. They end for a new response that needs them all. For
// one that needs more, no response ends, and the next refusals in the same moment do not look at all responses again.
func TestIdleResponsesOfAnyKeyEnd(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &answers{Stalls: NewStalls(StallBounds{One: 10, All: 100, Bytes: 1000})}
		var all []*answer
		for i := range 50 {
			one, _, err := s.enter(strconv.Itoa(i), strconv.Itoa(i), 20)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
		<-time.After(idleAfter)
		for i, one := range all {
			if i%20 != 3 {
				one.taken = time.Now()
			}
		}
		before := s.Load()
		for i := range 10 {
			s.looks = 0
			if _, _, err := s.enter("new", "large", 61); !errors.Is(err, ErrBusy) || len(s.ended) != 0 || s.Load() != before {
				t.Fatalf("got %v, ended %q and %+v, want ErrBusy, none and %+v", err, s.ended, s.Load(), before)
			}
			if i > 0 && s.looks > 5 {
				t.Errorf("got a look at %d responses, want one after the few that are idle", s.looks)
			}
		}
		<-time.After(searchPause)
		if _, _, err := s.enter("new", "large", 60); err != nil {
			t.Fatal(err)
		}
		if slices.Sort(s.ended); !slices.Equal(s.ended, []string{"23", "3", "43"}) || s.bytes != 1000 {
			t.Errorf("ended %q for %d bytes in total, want 3, 23 and 43 for 1000", s.ended, s.bytes)
		}
	})
}

// A key whose clients all read ends no response of a key that has fewer.
func TestKeyWithMostEndsNoneOfOthers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &answers{Stalls: NewStalls(StallBounds{One: 10, All: 3, Bytes: 1000})}
		if _, _, err := s.enter("a", "a1", 1); err != nil {
			t.Fatal(err)
		}
		<-time.After(idleAfter)
		for _, name := range []string{"b1", "b2"} {
			if _, _, err := s.enter("b", name, 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := s.enter("b", "b3", 1); !errors.Is(err, ErrBusy) || len(s.ended) != 0 {
			t.Errorf("got %v and ended %q, want ErrBusy and none", err, s.ended)
		}
		if _, _, err := s.enter("c", "c1", 1); err != nil || !slices.Equal(s.ended, []string{"a1"}) {
			t.Errorf("got %v and ended %q, want a1 ended", err, s.ended)
		}
	})
}

func TestStallsBoundBytes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &answers{Stalls: NewStalls(StallBounds{One: 100, All: 100, Bytes: 1000})}
		var leaves []func()
		for i := range 20 {
			_, leave, err := s.enter("a", strconv.Itoa(i), 100)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
			<-time.After(idleAfter)
		}
		if s.bytes != 1000 || len(s.ended) != 10 || s.ended[0] != "0" {
			t.Errorf("got %d bytes and ended %q, want 1000 bytes and the first ten ended", s.bytes, s.ended)
		}
		for _, leave := range leaves {
			leave()
			leave()
		}
		if s.bytes != 0 || len(s.byKey) != 0 || s.Load().Taken != 0 {
			t.Errorf("got %d bytes of %d keys, want none", s.bytes, len(s.byKey))
		}
	})
}
