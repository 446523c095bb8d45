package fresh

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// After an upstream throttled a probe, no probe is sent for the time that it names, within limits. This applies to the
// readers of all resources in its store. Then one probe finds out whether it answers again.
func TestThrottledStoreIsNotProbed(t *testing.T) {
	for name, c := range map[string]struct{ asks, pause time.Duration }{
		"names no time": {0, minPause}, "names a time": {3 * time.Second, 3 * time.Second}, "names too long a time": {time.Hour, maxPause},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				rv := cache.RV(100)
				r := newCounterRig(t, map[string]*cache.RV{"pods": &rv, "leases": &rv, "events": &rv})
				r.members["pods"].stores.uncached = counter{r.counters, "events"}
				r.share(t, &rv, "pods", "leases", "events")
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

// While the upstream throttles, Reach returns ErrUnproven immediately: after the throttled probe, and during the pause.
// So the read itself is forwarded.
func TestReachFailsFastWhileThrottled(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods")
		u.throttle(&ThrottledError{After: maxPause, Err: errors.New("429")})
		pods := u.lanes["pods"]
		pods.checker.membership.stores.uncached = counter{u.counters, "events"}
		for _, when := range []string{"first probe", "pause"} {
			began := time.Now()
			err := pods.checker.Reach(t.Context(), u.rv+1, some)
			if took := time.Since(began); !errors.Is(err, ErrUnproven) || !isThrottled(err) || took > time.Second {
				t.Errorf("%s: got %v after %v, want a ThrottledError immediately", when, err, took)
			}
		}
		if n := u.asked(); n != 1 {
			t.Errorf("%d probes, want 1", n)
		}
	})
}

// Without an uncached resource, a shared store probes the read resources in rotation. A single throttled resource, for
// example while its watch cache is filled, does not stop checks of the others.
func TestThrottledResourceStopsNoOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		rv := cache.RV(100)
		r := newCounterRig(t, map[string]*cache.RV{"pods": &rv, "leases": &rv, "nodes": &rv})
		r.share(t, &rv, "pods", "leases", "nodes")
		r.mu.Lock()
		r.throttled, r.throttledOnly = &ThrottledError{After: maxPause, Err: errors.New("429")}, "pods"
		r.mu.Unlock()
		for range 5 {
			shared := r.members["pods"].known()
			shared.propose(r.members["pods"].source) // so that the readers share a probe of pods
			var readers sync.WaitGroup
			for _, name := range []string{"leases", "nodes"} {
				readers.Go(func() { r.current(t, name) })
			}
			readers.Wait()
			if err := shared.paused(); err != nil || shared.isBroken() {
				t.Errorf("got a paused or broken store (%v), want neither", err)
			}
			r.move(&rv, 1)
			<-time.After(compareEvery)
		}
	})
}

// A comparison with a paused store sends no request.
func TestComparisonWithPausedStoreSendsNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		rv := cache.RV(100)
		r := newCounterRig(t, map[string]*cache.RV{"pods": &rv, "nodes": &rv, "events": &rv})
		r.members["pods"].stores.uncached = counter{r.counters, "events"}
		r.share(t, &rv, "pods")
		shared := r.members["pods"].known()
		shared.pause(maxPause)
		before := r.asked()
		r.members["nodes"].compare(t.Context(), shared)
		if n := r.asked() - before; n != 0 {
			t.Errorf("got %d requests, want none", n)
		}
		<-time.After(maxPause + time.Second)
		r.share(t, &rv, "nodes")
	})
}

// The pause of a resource's own store does not affect the shared store.
func TestPauseOfOwnStoreIsSeparate(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		rv := cache.RV(100)
		r := newCounterRig(t, map[string]*cache.RV{"pods": &rv, "widgets": &rv})
		r.current(t, "pods")
		widgets := r.members["widgets"].own
		widgets.pause(time.Minute)
		if _, err := widgets.current(t.Context(), r.members["widgets"].source); !isThrottled(err) {
			t.Errorf("widgets: got %v, want a ThrottledError", err)
		}
		r.move(&rv, 1)
		r.current(t, "pods")
	})
}

// share reads resources until they share a store.
func (r *counterRig) share(t *testing.T, rv *cache.RV, names ...string) {
	t.Helper()
	for range 8 {
		for _, name := range names {
			r.current(t, name)
			r.move(rv, 1)
		}
		<-time.After(compareEvery)
	}
	for _, name := range names {
		if m := r.members[name]; m.known() != m.stores.get() {
			t.Fatalf("%s does not share a store", name)
		}
	}
}

func (c *counters) throttle(by *ThrottledError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.throttled = by
}

// areThrottled checks that many concurrent readers all get a ThrottledError.
func (r *counterRig) areThrottled(t *testing.T) {
	t.Helper()
	var readers sync.WaitGroup
	for range 20 {
		for name, m := range r.members {
			readers.Go(func() {
				if _, err := m.current(context.WithoutCancel(t.Context()), 0); !isThrottled(err) {
					t.Errorf("%s: got %v, want a ThrottledError", name, err)
				}
			})
		}
	}
	readers.Wait()
}
