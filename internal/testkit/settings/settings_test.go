package settings

import (
	"os"
	"testing"
)

// unset removes a variable from the environment until the test ends.
func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "")
	if err := os.Unsetenv(name); err != nil {
		t.Fatal(err)
	}
}

// Every run draws the same numbers, unless LISTFACADE_SEED is set.
func TestSeed(t *testing.T) {
	unset(t, "LISTFACADE_SEED")
	first := Random(t).Uint64()
	if again := Random(t).Uint64(); again != first {
		t.Errorf("drew %d and %d", first, again)
	}
	t.Setenv("LISTFACADE_SEED", "842286152435")
	if seed := Seed(t); seed != 842286152435 {
		t.Errorf("seed %d", seed)
	}
	if other := Random(t).Uint64(); other == first {
		t.Errorf("different seeds drew the same number %d", other)
	}
}

func TestBudgetCounts(t *testing.T) {
	unset(t, "LISTFACADE_SOAK")
	t.Setenv("LISTFACADE_TRIES", "3")
	b := NewBudget(t, "LISTFACADE_TRIES", 7)
	if !b.Allows(2) || b.Allows(3) || b.Missed(1) != 2 || b.Missed(3) != 0 {
		t.Errorf("%+v", b)
	}
	if b := NewBudget(t, "LISTFACADE_OTHER_TRIES", 7); b.Tries != 7 {
		t.Errorf("%+v", b)
	}
}

// With LISTFACADE_SOAK a budget does not count tries and ends by time.
func TestBudgetSoaks(t *testing.T) {
	t.Setenv("LISTFACADE_SOAK", "1h")
	if b := NewBudget(t, "LISTFACADE_TRIES", 7); !b.Allows(1_000_000) || b.Missed(0) != 0 {
		t.Errorf("%+v", b)
	}
	t.Setenv("LISTFACADE_SOAK", "1ns")
	if b := NewBudget(t, "LISTFACADE_TRIES", 7); b.Allows(0) || b.Missed(0) != 0 {
		t.Errorf("%+v", b)
	}
}
