package limit

import (
	"errors"
	"testing"
)

func TestConcurrencyLimit(t *testing.T) {
	c := NewConcurrencyLimit(ConcurrencyBounds{Each: 2, All: 3})
	join := func(key string) func() {
		t.Helper()
		leave, err := c.Join(key)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		return leave
	}
	refused := func(key, why string) {
		t.Helper()
		if _, err := c.Join(key); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: got %v although %s, want ErrBusy", key, err, why)
		}
	}
	first, second := join("a"), join("a")
	refused("a", "the key has two")
	third := join("b")
	refused("c", "there are three in total")
	first()
	fourth := join("c")
	for _, leave := range []func(){second, third, fourth} {
		leave()
	}
	if len(c.counts) != 0 || c.all != 0 {
		t.Errorf("got counts %v and a total of %d, want none", c.counts, c.all)
	}
}

func TestConcurrencyLimitWithoutTotalBound(t *testing.T) {
	c := NewConcurrencyLimit(ConcurrencyBounds{Each: 1})
	for _, key := range []string{"a", "b", "c"} {
		leave, err := c.Join(key)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		defer leave()
	}
	if _, err := c.Join("a"); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v although the key has one, want ErrBusy", err)
	}
}
