package fresh

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/cache"
)

// An upstream that sends a probe away is left alone for as long as it asks to, within bounds, by the readers of all
// resources that share its store; then one probe finds out whether it answers. What it answers then is of then.
func TestThrottled(t *testing.T) {
	for name, c := range map[string]struct{ asks, pause time.Duration }{
		"says nothing": {0, leastPause}, "says when": {3 * time.Second, 3 * time.Second}, "asks too much": {time.Hour, mostPause},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rv := cache.RV(100)
				of := map[string]*cache.RV{"pods": &rv, "leases": &rv}
				r := newCounterRig(t, of)
				for range 3 {
					r.current(t, "pods")
					r.current(t, "leases")
					r.move(&rv, 1)
					<-time.After(compareEvery)
				}
				if r.members["leases"].known() != r.members["pods"].known() {
					t.Fatal("leases and pods do not share a store")
				}
				r.throttle(&ThrottledError{After: c.asks, Err: errors.New("429")})
				for range 3 {
					before := r.asked()
					r.areThrottled(t)
					<-time.After(c.pause - time.Second/2)
					r.areThrottled(t)
					if n := r.asked() - before; n != 1 {
						t.Errorf("%d probes in a pause, want 1", n)
					}
					<-time.After(time.Second/2 + time.Millisecond)
				}
				r.throttle(nil)
				r.move(&rv, 1)
				r.current(t, "pods")
				r.current(t, "leases")
			})
		})
	}
}

// A resource that keeps to itself is left alone by itself: what is answered to others says nothing of it.
func TestThrottledAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rv := cache.RV(100)
		r := newCounterRig(t, map[string]*cache.RV{"pods": &rv, "widgets": &rv})
		r.current(t, "pods")
		widgets := r.members["widgets"].own
		widgets.pause(time.Minute)
		if _, err := widgets.current(t.Context(), r.members["widgets"].source); !isThrottled(err) {
			t.Errorf("widgets: %v", err)
		}
		r.move(&rv, 1)
		r.current(t, "pods")
	})
}

func (c *counters) throttle(by *ThrottledError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.throttled = by
}

// areThrottled has many ask at once, and none be answered.
func (r *counterRig) areThrottled(t *testing.T) {
	t.Helper()
	var readers sync.WaitGroup
	for range 20 {
		for name, m := range r.members {
			readers.Go(func() {
				if _, err := m.current(context.WithoutCancel(t.Context()), 0); !isThrottled(err) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
	readers.Wait()
}
