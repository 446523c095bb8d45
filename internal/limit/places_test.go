package limit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// take takes seats within a time.
func take(t *testing.T, p *Places, key string, seats int64, wait time.Duration) (func(), error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	return p.Take(ctx, key, seats)
}

func TestSeatsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(Bounds{Each: 4, All: 6, Queue: 1000})
		var all, most atomic.Int64
		var each [3]atomic.Int64
		var wait sync.WaitGroup
		for i := range 300 {
			wait.Go(func() {
				key, seats := i%3, int64(1+i%4)
				leave, err := take(t, p, string(rune('a'+key)), seats, time.Hour)
				if err != nil {
					t.Error(err)
					return
				}
				if n := each[key].Add(seats); n > 4 {
					t.Errorf("%d seats of one key", n)
				}
				most.Store(max(most.Load(), all.Add(seats)))
				<-time.After(time.Second)
				each[key].Add(-seats)
				all.Add(-seats)
				leave()
				leave() // which gives back nothing
			})
		}
		wait.Wait()
		if most.Load() != 6 {
			t.Errorf("%d seats were taken at a time", most.Load())
		}
		if len(p.lines) != 0 {
			t.Errorf("%d keys are remembered", len(p.lines))
		}
	})
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(Bounds{Each: 2, All: 3, Queue: 1})
		leave, err := take(t, p, "a", 100, time.Second) // more than there are
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := take(t, p, "a", 1, time.Second); !errors.Is(err, ErrBusy) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		other, err := take(t, p, "b", 1, time.Second)
		if err != nil || time.Since(began) != time.Second {
			t.Errorf("another key: %v", err)
		}
		go func() {
			<-time.After(time.Second)
			leave()
		}()
		var wait sync.WaitGroup
		wait.Go(func() {
			if leave, err := take(t, p, "a", 2, time.Hour); err != nil {
				t.Error(err)
			} else {
				leave()
			}
		})
		synctest.Wait()
		if _, err := take(t, p, "a", 1, time.Hour); !errors.Is(err, ErrBusy) || time.Since(began) != time.Second {
			t.Errorf("behind a full queue: %v after %s", err, time.Since(began))
		}
		wait.Wait()
		other()
		if len(p.lines) != 0 {
			t.Errorf("%d keys are remembered", len(p.lines))
		}
	})
}
