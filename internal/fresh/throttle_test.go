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

// Who reads at a version that the lane has not heard of is told at once that nothing can be proven while the upstream
// throttles, by its first answer and in the pause behind it, so that the upstream is asked for what is read instead.
func TestReachWhileThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods")
		u.throttle(&ThrottledError{After: mostPause, Err: errors.New("429")})
		pods := u.lanes["pods"]
		pods.prover.membership.stores.uncached = counter{u.counters, "events"}
		for _, when := range []string{"by its answer", "in the pause"} {
			began := time.Now()
			err := pods.prover.Reach(t.Context(), u.rv+1, some)
			if took := time.Since(began); !errors.Is(err, ErrUnproven) || !isThrottled(err) || took > time.Second {
				t.Errorf("%s: %v, after %v", when, err, took)
			}
		}
		if n := u.asked(); n != 1 {
			t.Errorf("%d probes, want 1", n)
		}
	})
}

// Where nothing uncached may be read, a shared store probes what is read, each in turn. A resource that is throttled
// alone, as while its watch cache is built, then keeps nobody else from being proven.
func TestThrottledMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rv := cache.RV(100)
		r := newCounterRig(t, map[string]*cache.RV{"pods": &rv, "leases": &rv, "nodes": &rv})
		r.share(t, &rv, "pods", "leases", "nodes")
		r.mu.Lock()
		r.throttled, r.crowded = &ThrottledError{After: mostPause, Err: errors.New("429")}, "pods"
		r.mu.Unlock()
		for range 5 {
			shared := r.members["pods"].known()
			shared.propose(r.members["pods"].source) // so that it is whose answer they share
			var readers sync.WaitGroup
			for _, name := range []string{"leases", "nodes"} {
				readers.Go(func() { r.current(t, name) })
			}
			readers.Wait()
			if err := shared.paused(); err != nil || shared.isBroken() {
				t.Errorf("the others' store is left alone, or broken: %v", err)
			}
			r.move(&rv, 1)
			<-time.After(compareEvery)
		}
	})
}

// Who compares itself with a store that is left alone asks nothing of its own.
func TestThrottledComparison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rv := cache.RV(100)
		r := newCounterRig(t, map[string]*cache.RV{"pods": &rv, "nodes": &rv, "events": &rv})
		r.members["pods"].stores.uncached = counter{r.counters, "events"}
		r.share(t, &rv, "pods")
		shared := r.members["pods"].known()
		shared.pause(mostPause)
		before := r.asked()
		r.members["nodes"].compare(t.Context(), shared)
		if n := r.asked() - before; n != 0 {
			t.Errorf("%d questions", n)
		}
		<-time.After(mostPause + time.Second)
		r.share(t, &rv, "nodes")
	})
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
