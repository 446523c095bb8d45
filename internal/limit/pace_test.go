package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// begin takes a seat of a key and settles it as counted.
func begin(ctx context.Context, p *Pace, key Key) error {
	settle, err := p.Take(ctx, key)
	if err == nil {
		settle(true)
	}
	return err
}

func TestPaceIsARate(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewPace(Rate{PerSecond: 10, Burst: 20}, 1000, 1000)
		began := time.Now()
		for i := range 200 {
			if err := begin(t.Context(), p, Alone(fmt.Sprint(i%4))); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 18*time.Second {
			t.Errorf("got a burst of 20 and 180 more in %s, want 18s", took)
		}
	})
}

// Another group waits for one turn only, however many requests of a group wait.
func TestPaceServesGroupsInTurn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewPace(Rate{PerSecond: 10, Burst: 20}, 1000, 1000)
		var flood sync.WaitGroup
		for i := range 300 {
			flood.Go(func() {
				if err := begin(t.Context(), p, Key{Group: "ns", One: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for range 10 {
			began := time.Now()
			if err := begin(t.Context(), p, Alone("newcomer")); err != nil || time.Since(began) > 200*time.Millisecond {
				t.Errorf("got %v after %s, want a turn within 200ms", err, time.Since(began))
			}
		}
		flood.Wait()
	})
}

func TestPaceReturnsErrBusyWhenContextEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewPace(Rate{PerSecond: 0.01, Burst: 1}, 1, 1)
		if err := begin(t.Context(), p, Alone("a")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := begin(ctx, p, Alone("a")); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
	})
}

func TestPaceReturnsUncountedSeatsImmediately(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewPace(Rate{PerSecond: 0.01, Burst: 1}, 1, 1)
		for _, counts := range []bool{false, false, true} {
			began := time.Now()
			settle, err := p.Take(t.Context(), Alone("a"))
			if err != nil || time.Since(began) > 0 {
				t.Fatalf("got %v after %s, want a seat immediately", err, time.Since(began))
			}
			settle(counts)
		}
	})
}
