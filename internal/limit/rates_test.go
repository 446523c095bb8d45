package limit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// taken returns how many of many tries succeed.
func taken(r *Rates, key string, tries int) int {
	n := 0
	for range tries {
		if _, ok := r.Take(key); ok {
			n++
		}
	}
	return n
}

func TestRatesBoundEachKey(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := NewRates(Rate{PerSecond: 2, Burst: 5})
		if n := taken(r, "a", 100); n != 5 {
			t.Errorf("got %d tokens of one key, want 5", n)
		}
		if after, ok := r.Take("a"); ok || after != time.Second/2 {
			t.Errorf("got a retry after %s, want 500ms", after)
		}
		if n := taken(r, "b", 100); n != 5 {
			t.Errorf("got %d tokens of another key, want 5", n)
		}
		<-time.After(time.Second)
		if n := taken(r, "a", 100); n != 2 {
			t.Errorf("got %d tokens after a second, want 2", n)
		}
	})
}

func TestRatesAdmitAfterTheReturnedDelay(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := NewRates(Rate{PerSecond: 7, Burst: 1})
		taken(r, "a", 1)
		for range 100 {
			after, ok := r.Take("a")
			if ok || after <= 0 {
				t.Fatalf("got %t and a delay of %s, want a refusal with a delay", ok, after)
			}
			<-time.After(after)
			if _, ok := r.Take("a"); !ok {
				t.Fatal("got a refusal after the returned delay, want a token")
			}
		}
	})
}

func TestRatesWithoutBounds(t *testing.T) {
	r := NewRates(Rate{})
	if n := taken(r, "a", 10_000); n != 10_000 || len(r.limiters) != 0 {
		t.Errorf("got %d tokens and %d limiters, want 10000 and none", n, len(r.limiters))
	}
}

// A flood of keys never uses more than maxKeys limiters, and all of them are dropped afterwards.
func TestRatesDropIdleKeys(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := NewRates(Rate{PerSecond: 1, Burst: 2})
		taken(r, "known", 1)
		for i := range maxKeys + 100 {
			taken(r, fmt.Sprint(i), 1)
		}
		if len(r.limiters) != maxKeys {
			t.Errorf("got %d limiters, want %d", len(r.limiters), maxKeys)
		}
		if n := taken(r, "known", 100); n != 1 {
			t.Errorf("got %d tokens for a key from before the flood, want 1", n)
		}
		if n := taken(r, "newcomer", 100); n != 0 {
			t.Errorf("got %d tokens for a new key in the flood, want 0", n)
		}
		<-time.After(time.Minute)
		if n := taken(r, "newcomer", 100); n != 2 || len(r.limiters) != 1 {
			t.Errorf("got %d tokens and %d limiters after the flood, want 2 and 1", n, len(r.limiters))
		}
	})
}

func TestRatesAreExactUnderConcurrency(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := NewRates(Rate{PerSecond: 1, Burst: 75})
		var given atomic.Int64
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() { given.Add(int64(taken(r, string(rune('a'+i%2)), 100))) })
		}
		wait.Wait()
		if given.Load() != 150 {
			t.Errorf("got %d tokens, want 150", given.Load())
		}
	})
}
