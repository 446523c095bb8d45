package limit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// taken counts what is given of many tries.
func taken(r *Rates, key string, tries int) int {
	n := 0
	for range tries {
		if _, ok := r.Take(key); ok {
			n++
		}
	}
	return n
}

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRates(Rate{PerSecond: 2, Burst: 5})
		if n := taken(r, "a", 100); n != 5 {
			t.Errorf("%d of one key at once", n)
		}
		if after, ok := r.Take("a"); ok || after != time.Second/2 {
			t.Errorf("to come back after %s", after)
		}
		if n := taken(r, "b", 100); n != 5 {
			t.Errorf("%d of another", n)
		}
		<-time.After(time.Second)
		if n := taken(r, "a", 100); n != 2 {
			t.Errorf("%d after a second", n)
		}
	})
}

// Whoever comes back when told is let in.
func TestRatesKeepTheirWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRates(Rate{PerSecond: 7, Burst: 1})
		taken(r, "a", 1)
		for range 100 {
			after, ok := r.Take("a")
			if ok || after <= 0 {
				t.Fatalf("%t after %s", ok, after)
			}
			<-time.After(after)
			if _, ok := r.Take("a"); !ok {
				t.Fatal("not let in")
			}
		}
	})
}

func TestRatesWithoutBounds(t *testing.T) {
	r := NewRates(Rate{})
	if n := taken(r, "a", 10_000); n != 10_000 || len(r.each) != 0 {
		t.Errorf("%d, and %d keys are remembered", n, len(r.each))
	}
}

// A flood of keys is forgotten when it is over, and never takes more memory than there is for it.
func TestRatesForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRates(Rate{PerSecond: 1, Burst: 2})
		taken(r, "known", 1)
		for i := range mostRates + 1000 {
			taken(r, fmt.Sprint(i), 1)
		}
		if len(r.each) != mostRates {
			t.Errorf("%d keys are remembered", len(r.each))
		}
		if n := taken(r, "known", 100); n != 1 {
			t.Errorf("who was there before is given %d", n)
		}
		if n := taken(r, "newcomer", 100); n != 0 {
			t.Errorf("one of the flood is given %d", n)
		}
		<-time.After(time.Minute)
		if n := taken(r, "newcomer", 100); n != 2 || len(r.each) != 1 {
			t.Errorf("%d after the flood, %d keys are remembered", n, len(r.each))
		}
	})
}

func TestRatesAreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRates(Rate{PerSecond: 1, Burst: 75})
		var given atomic.Int64
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() { given.Add(int64(taken(r, string(rune('a'+i%2)), 100))) })
		}
		wait.Wait()
		if given.Load() != 150 {
			t.Errorf("%d were given", given.Load())
		}
	})
}
