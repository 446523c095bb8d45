package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// start takes from Paces as many times as wanted at the same time, and returns a function that waits for the last one
// and returns how many were refused.
func start(ctx context.Context, p *Paces, key Key, times int) (refused func() int64) {
	var all sync.WaitGroup
	var busy atomic.Int64
	for range times {
		all.Go(func() {
			if err := p.Take(ctx, key); errors.Is(err, ErrBusy) {
				busy.Add(1)
			}
		})
	}
	synctest.Wait()
	return func() int64 { all.Wait(); return busy.Load() }
}

// A key with much work waits, and other keys do not.
func TestPacesDelayOneKeyOnly(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewPaces(Rate{PerSecond: 50, Burst: 200}, 10, 500, 1000)
		began := time.Now()
		refused := start(t.Context(), p, Alone("many"), 1000)
		if n := p.Waiting(); n != 500 {
			t.Errorf("got %d waiting, want 500", n)
		}
		if err := p.Take(t.Context(), Alone("one")); err != nil || time.Since(began) > 0 {
			t.Errorf("another key: got %v after %s, want no wait", err, time.Since(began))
		}
		if n := refused(); n != 300 || time.Since(began) != 10*time.Second {
			t.Errorf("got %d refused and the last after %s, want 300 and 10s", n, time.Since(began))
		}
		<-time.After(5 * time.Second) // after the return of the last seat
		synctest.Wait()
		if len(p.seats.groups) != 0 || p.Waiting() != 0 {
			t.Errorf("got %d groups and %d waiting, want none", len(p.seats.groups), p.Waiting())
		}
	})
}

// The keys of a group share the rate of the group, in turns.
func TestPacesOfAGroupTakeTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewPaces(Rate{PerSecond: 10, Burst: 10}, 2, 1000, 10_000)
		began := time.Now()
		var waits []func() int64
		for i := range 10 {
			waits = append(waits, start(t.Context(), p, Key{Group: "ns", One: fmt.Sprint(i)}, 10))
		}
		if n := p.Waiting(); n != 80 {
			t.Errorf("got %d waiting, want 80: the burst of the group is 20", n)
		}
		if err := p.Take(t.Context(), Key{Group: "ns", One: "another"}); err != nil || time.Since(began) > time.Second {
			t.Errorf("another key of the group: got %v after %s, want a turn within 1s", err, time.Since(began))
		}
		for _, wait := range waits {
			wait()
		}
		if took := time.Since(began); took != 81*time.Second/20 {
			t.Errorf("got the last after %s, want 20 per second", took)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if len(p.seats.groups) != 0 {
			t.Errorf("got %d groups, want none", len(p.seats.groups))
		}
	})
}

func TestPacesEndWithTheContext(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewPaces(Rate{PerSecond: 0.01, Burst: 1}, 1, 10, 10)
		if err := p.Take(t.Context(), Alone("a")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Take(ctx, Alone("a")); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
		<-time.After(time.Hour) // the seats return
	})
}
