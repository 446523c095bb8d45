package limit

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// crowdOf enters streams, and counts those of each key that are open.
type crowdOf struct {
	*Streams
	open map[Key]int
}

func newCrowdOf(bounds StreamBounds) *crowdOf {
	return &crowdOf{Streams: NewStreams(bounds), open: map[Key]int{}}
}

// enter reports whether a stream found a place.
func (c *crowdOf) enter(t *testing.T, key Key) (leave func(), entered bool) {
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

func (c *crowdOf) fill(t *testing.T, key Key, n int) (entered int) {
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
	c := newCrowdOf(StreamBounds{One: 3})
	if n := c.fill(t, Alone("a"), 10); n != 3 {
		t.Errorf("got %d, want 3", n)
	}
	if n := c.fill(t, Alone("b"), 1); n != 1 {
		t.Errorf("got %d of another, want 1", n)
	}
}

// A newcomer takes places from the group with the most until it has as many, whether that is one caller or many.
func TestStreamsAreSharedBetweenGroups(t *testing.T) {
	c := newCrowdOf(StreamBounds{All: 100})
	for i := range 100 {
		c.fill(t, account(i), 1)
	}
	if n := c.fill(t, Alone("newcomer"), 100); n != 50 {
		t.Errorf("a newcomer got %d of 100 places, want 50", n)
	}
	if n := c.fill(t, account(1000), 1); n != 0 {
		t.Errorf("got %d places for one more account, want none: no other has two", n)
	}
	if n := c.fill(t, Alone("another"), 100); n != 33 {
		t.Errorf("a third group got %d places, want 33", n)
	}
	if load := c.Load(); load.Taken != 100 {
		t.Errorf("got %d places taken, want 100", load.Taken)
	}
}

func TestStreamsAreSharedBetweenKeysOfAGroup(t *testing.T) {
	c := newCrowdOf(StreamBounds{All: 10})
	c.fill(t, account(0), 9)
	c.fill(t, Alone("other"), 1)
	if n := c.fill(t, account(1), 10); n != 4 {
		t.Errorf("the second account got %d places, want 4", n)
	}
	if c.open[account(0)] != 5 || c.open[Alone("other")] != 1 {
		t.Errorf("got %v, want 5 of the first account and 1 of the other group", c.open)
	}
}

// The oldest stream is displaced, and one that has left is not.
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
		t.Errorf("displaced %v, want the second, which was the oldest left", ended)
	}
	leaves[1]() // is over now
	if load := s.Load(); load.Taken != 4 {
		t.Errorf("got %d places taken, want 4", load.Taken)
	}
}

// A caller that opens streams and leaves ends as many streams of others as by staying, and then one each second. Those
// come back into the places that are free again.
func TestStreamsThatLeaveDisplaceNoMore(t *testing.T) {
	group, sibling := Key{Group: "agents", One: "a"}, Key{Group: "agents", One: "b"}
	for name, churner := range map[string]Key{"of another group": Alone("churner"), "of the group": sibling} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowdOf(StreamBounds{All: 20})
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
					t.Errorf("got %d streams that ended, want 7 at most, as by staying", n)
				}
				for range 10 {
					<-time.After(time.Second)
					if n := churn(50); n != 1 {
						t.Errorf("got %d streams that ended in a second, want 1", n)
					}
				}
			})
		})
	}
}

// A place that is free is given to callers that have left places before, too, and debts are forgotten.
func TestDebtsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowdOf(StreamBounds{All: 10})
		c.fill(t, Alone("a"), 10)
		for range 20 {
			if leave, ok := c.enter(t, Alone("b")); ok {
				leave()
				c.fill(t, Alone("a"), 1)
			}
		}
		if _, ok := c.enter(t, Alone("b")); ok {
			t.Error("got a place of another, want none")
		}
		leave, ok := c.enter(t, Alone("c"))
		if !ok {
			t.Fatal("got no place for a newcomer")
		}
		leave()
		if _, ok := c.enter(t, Alone("b")); !ok {
			t.Error("got no place although one is free")
		}
		<-time.After(time.Minute)
		if n := c.fill(t, Alone("b"), 10); n != 4 {
			t.Errorf("got %d places more, want 4: half of all", n)
		}
		if leave, ok := c.enter(t, Alone("d")); ok {
			leave()
		}
		if len(c.groupDebts.until) != 1 || len(c.keyDebts.until) != 1 {
			t.Errorf("got debts of %d groups and %d keys, want those of the last alone", len(c.groupDebts.until), len(c.keyDebts.until))
		}
	})
}

func TestStreamsForgetKeys(t *testing.T) {
	c := newCrowdOf(StreamBounds{})
	var leaves []func()
	for i := range 100 {
		leave, _ := c.enter(t, account(i%10))
		leaves = append(leaves, leave)
	}
	for _, leave := range leaves {
		leave()
	}
	if len(c.groups) != 0 || c.Load().Taken != 0 {
		t.Errorf("got %d groups and %d places taken, want none", len(c.groups), c.Load().Taken)
	}
}
