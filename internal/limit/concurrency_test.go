package limit

import (
	"errors"
	"testing"
)

func TestCrowd(t *testing.T) {
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
			t.Errorf("%s: %v, although %s", key, err, why)
		}
	}
	first, second := join("a"), join("a")
	refused("a", "two wait for it")
	third := join("b")
	refused("c", "three wait")
	first()
	fourth := join("c")
	for _, leave := range []func(){second, third, fourth} {
		leave()
	}
	if len(c.there) != 0 || c.all != 0 {
		t.Errorf("%v, %d are left", c.there, c.all)
	}
}

func TestCrowdWithoutBounds(t *testing.T) {
	c := NewConcurrencyLimit(ConcurrencyBounds{Each: 1})
	for _, key := range []string{"a", "b", "c"} {
		leave, err := c.Join(key)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		defer leave()
	}
	if _, err := c.Join("a"); !errors.Is(err, ErrBusy) {
		t.Errorf("%v, although one is there", err)
	}
}
