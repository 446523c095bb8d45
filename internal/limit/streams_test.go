package limit

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// streamSet enters streams and counts the open ones by key.
type streamSet struct {
	*Streams
	open map[Key]int
}

func newStreamSet(bounds StreamBounds) *streamSet {
	return &streamSet{Streams: NewStreams(bounds), open: map[Key]int{}}
}

// enter reports whether a stream was admitted.
func (c *streamSet) enter(t *testing.T, key Key) (leave func(), entered bool) {
	t.Helper()
	gone := false
	leave, err := c.Enter(key, func() {
		if gone {
			t.Errorf("%v was displaced twice", key)
		}
		gone = true
		c.open[key]--
	})
	if err != nil {
		if !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
		return nil, false
	}
	c.open[key]++
	return leave, true
}

func (c *streamSet) fill(t *testing.T, key Key, n int) (entered int) {
	t.Helper()
	for range n {
		if _, ok := c.enter(t, key); ok {
			entered++
		}
	}
	return entered
}

func account(i int) Key { return Key{Group: "ns", One: fmt.Sprint("account", i)} }

func TestStreamsOfOneKeyAreBounded(t *testing.T) {
	c := newStreamSet(StreamBounds{One: 3})
	if n := c.fill(t, Alone("a"), 10); n != 3 {
		t.Errorf("got %d, want 3", n)
	}
	if n := c.fill(t, Alone("b"), 1); n != 1 {
		t.Errorf("got %d of another, want 1", n)
	}
}

// A newcomer displaces streams of the largest group until it has as many, whether that group is one caller or many.
func TestStreamsAreSharedBetweenGroups(t *testing.T) {
	c := newStreamSet(StreamBounds{All: 100})
	for i := range 100 {
		c.fill(t, account(i), 1)
	}
	if n := c.fill(t, Alone("newcomer"), 100); n != 50 {
		t.Errorf("a newcomer got %d of 100 streams, want 50", n)
	}
	if n := c.fill(t, account(1000), 1); n != 0 {
		t.Errorf("one more account got %d streams, want none: no other account has two", n)
	}
	if n := c.fill(t, Alone("another"), 100); n != 33 {
		t.Errorf("a third group got %d streams, want 33", n)
	}
	if load := c.Load(); load.Taken != 100 {
		t.Errorf("got %d open streams, want 100", load.Taken)
	}
}

func TestStreamsAreSharedBetweenKeysOfAGroup(t *testing.T) {
	c := newStreamSet(StreamBounds{All: 10})
	c.fill(t, account(0), 9)
	c.fill(t, Alone("other"), 1)
	if n := c.fill(t, account(1), 10); n != 4 {
		t.Errorf("the second account got %d streams, want 4", n)
	}
	if c.open[account(0)] != 5 || c.open[Alone("other")] != 1 {
		t.Errorf("got %v, want 5 of the first account and 1 of the other group", c.open)
	}
}

// The oldest stream that is still open is displaced.
func TestStreamsDisplaceTheOldest(t *testing.T) {
	s := NewStreams(StreamBounds{All: 4})
	var ended []int
	var leaves []func()
	for i := range 4 {
		leave, err := s.Enter(Alone("a"), func() { ended = append(ended, i) })
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	leaves[0]()
	leaves[0]()
	for range 2 {
		if _, err := s.Enter(Alone("b"), func() { t.Error("a newcomer was displaced") }); err != nil {
			t.Fatal(err)
		}
	}
	if len(ended) != 1 || ended[0] != 1 {
		t.Errorf("displaced %v, want the second, which was the oldest open stream", ended)
	}
	leaves[1]() // has no effect: it was displaced
	if load := s.Load(); load.Taken != 4 {
		t.Errorf("got %d open streams, want 4", load.Taken)
	}
}

// A caller that opens and closes streams all the time displaces as many streams as one that stays, then one per second.
// The displaced streams return to the seats that are free again.
func TestStreamsThatLeaveDisplaceNoMore(t *testing.T) {
	group, sibling := Key{Group: "agents", One: "a"}, Key{Group: "agents", One: "b"}
	for name, churner := range map[string]Key{"of another group": Alone("churner"), "of the group": sibling} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				c := newStreamSet(StreamBounds{All: 20})
				c.fill(t, group, 8)
				c.fill(t, Alone("x"), 6)
				c.fill(t, Alone("y"), 6)
				churn := func(times int) (displaced int) {
					for range times {
						leave, ok := c.enter(t, churner)
						if !ok {
							continue
						}
						leave()
						if c.open[group] < 8 {
							displaced++
							c.fill(t, group, 1)
						}
					}
					return displaced
				}
				if n := churn(100); n > 7 {
					t.Errorf("got %d displaced streams, want 7 at most", n)
				}
				for range 10 {
					<-time.After(time.Second)
					if n := churn(50); n != 1 {
						t.Errorf("got %d displaced streams in a second, want 1", n)
					}
				}
			})
		})
	}
}

// A caller with debts still gets a free stream, and debts expire.
func TestDebtsExpire(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newStreamSet(StreamBounds{All: 10})
		c.fill(t, Alone("a"), 10)
		for range 20 {
			if leave, ok := c.enter(t, Alone("b")); ok {
				leave()
				c.fill(t, Alone("a"), 1)
			}
		}
		if _, ok := c.enter(t, Alone("b")); ok {
			t.Error("got a stream of another group, want none")
		}
		leave, ok := c.enter(t, Alone("c"))
		if !ok {
			t.Fatal("got no stream for a newcomer")
		}
		leave()
		if _, ok := c.enter(t, Alone("b")); !ok {
			t.Error("got no stream although one is free")
		}
		<-time.After(time.Minute)
		if n := c.fill(t, Alone("b"), 10); n != 4 {
			t.Errorf("got %d more streams, want 4: half of all", n)
		}
		if leave, ok := c.enter(t, Alone("d")); ok {
			leave()
		}
		if len(c.groupDebts.until) != 1 || len(c.keyDebts.until) != 1 {
			t.Errorf("got debts of %d groups and %d keys, want one of each", len(c.groupDebts.until), len(c.keyDebts.until))
		}
	})
}

func TestStreamsForgetKeys(t *testing.T) {
	c := newStreamSet(StreamBounds{})
	var leaves []func()
	for i := range 100 {
		leave, _ := c.enter(t, account(i%10))
		leaves = append(leaves, leave)
	}
	for _, leave := range leaves {
		leave()
	}
	if len(c.groups) != 0 || c.Load().Taken != 0 {
		t.Errorf("got %d groups and %d open streams, want none", len(c.groups), c.Load().Taken)
	}
}
