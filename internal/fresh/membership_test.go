package fresh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// counters is an upstream with several stores: each resource takes its versions from the counter that is assigned to
// it.
type counters struct {
	mu            sync.Mutex
	of            map[string]*cache.RV
	probes        map[string]int
	minor         string          // version of Kubernetes
	checks        string          // text of /livez
	unanswered    string          // resource for which the upstream does not respond
	unhealthy     bool            // whether the health checks fail
	refusals      int             // number of the next requests that fail
	throttled     *ThrottledError // error of all requests, or of those for throttledOnly
	throttledOnly string          // resource that throttled is limited to; empty: all
}

// ServerVersion implements Upstream.
func (c *counters) ServerVersion(context.Context) ([]byte, error) {
	<-time.After(time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Appendf(nil, `{"major":"1","minor":%q}`, c.minor), nil
}

// HealthChecks implements Upstream.
func (c *counters) HealthChecks(context.Context) ([]byte, error) {
	<-time.After(time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unhealthy {
		return nil, errors.New("not yet")
	}
	return []byte(c.checks), nil
}

// counter is one resource of counters.
type counter struct {
	*counters
	name string
}

// ResourceVersion implements Source. It returns after a millisecond.
func (c counter) ResourceVersion(ctx context.Context) (cache.RV, error) {
	<-time.After(time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probes[c.name]++
	if c.throttled != nil && (c.throttledOnly == "" || c.throttledOnly == c.name) {
		return 0, c.throttled
	}
	if c.refusals > 0 {
		c.refusals--
		return 0, errors.New("too many requests")
	}
	if c.name == c.unanswered {
		c.mu.Unlock()
		<-ctx.Done()
		c.mu.Lock()
		return 0, ctx.Err()
	}
	return *c.of[c.name], nil
}

// CallRoll implements Source.
func (c counter) CallRoll(context.Context) (*RollCall, error) { return nil, ErrUnsupported }

func (c *counters) move(rv *cache.RV, by cache.RV) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*rv += by
}

// asked returns the number of probes for all resources.
func (c *counters) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := 0
	for _, n := range c.probes {
		all += n
	}
	return all
}

// counterRig is one membership per resource of counters.
type counterRig struct {
	*counters
	members map[string]*membership
	start   func(work func(context.Context)) bool
}

func newCounterRig(t *testing.T, of map[string]*cache.RV) *counterRig {
	t.Helper()
	rig := &counterRig{counters: &counters{of: of, probes: map[string]int{}, minor: "37", checks: "[+]ping ok\n[+]etcd ok\nlivez check passed\n"}, members: map[string]*membership{}}
	var background sync.WaitGroup
	t.Cleanup(background.Wait)
	rig.start = func(work func(context.Context)) bool { background.Go(func() { work(t.Context()) }); return true }
	shared := NewCheckers(rig.counters, nil, noMetrics{}, rig.start)
	for name := range of {
		rig.members[name] = &membership{
			source: counter{rig.counters, name}, stores: shared.stores, own: newOwnStore(noMetrics{}, rig.start),
		}
	}
	return rig
}

// current requests a resource's version and fails the test if it is an old one.
func (r *counterRig) current(t *testing.T, name string) {
	t.Helper()
	r.mu.Lock()
	now := *r.of[name]
	r.mu.Unlock()
	r.members[name].seek(r.start)
	answer, err := r.members[name].current(t.Context(), now)
	if err != nil || answer.rv < now {
		t.Fatalf("%s: got version %d, error %v, want %d or later", name, answer.rv, err, now)
	}
}

// noMetrics is Metrics that count nothing.
type noMetrics struct{}

// Questioned implements Metrics.
func (noMetrics) Questioned(string) {}

// Resources of one etcd join one store, and then one probe serves all concurrent readers.
func TestResourcesOfOneEtcdShareStore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		rv := cache.RV(100)
		of := map[string]*cache.RV{"pods": &rv, "nodes": &rv, "leases": &rv}
		r := newCounterRig(t, of)
		for range 3 {
			for name := range of {
				r.current(t, name)
				r.move(&rv, 1)
			}
			<-time.After(compareEvery)
		}
		before := r.asked()
		var wait sync.WaitGroup
		for range 100 {
			for name := range of {
				wait.Go(func() { r.current(t, name) })
			}
		}
		wait.Wait()
		if n := r.asked() - before; n > 10 {
			t.Errorf("got %d probes, want 10 at most", n)
		}
		for name, m := range r.members {
			if m.known() != m.stores.get() {
				t.Errorf("%s is not in the shared store", name)
			}
		}
	})
}

// A resource in another etcd does not join, whether its counter is ahead, behind, or equal by chance.
func TestResourceOfAnotherEtcdDoesNotJoin(t *testing.T) {
	for name, events := range map[string]cache.RV{"ahead": 5000, "behind": 1, "equal at first": 100} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				rv := cache.RV(100)
				of := map[string]*cache.RV{"pods": &rv, "nodes": &rv, "events": &events}
				r := newCounterRig(t, of)
				for range 10 {
					for name := range of {
						r.current(t, name)
					}
					r.move(&rv, 3)
					r.move(&events, 7)
					<-time.After(compareEvery)
				}
				if m := r.members["events"]; m.known() == r.members["pods"].known() && m.known() != nil {
					t.Error("events and pods share a store")
				}
			})
		})
	}
}

// Resources leave a shared store at the first contradiction, for example after kube-apiserver was restarted with
// another configuration.
func TestStoreBreaksUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		rv, other := cache.RV(100), cache.RV(3)
		of := map[string]*cache.RV{"pods": &rv, "leases": &rv}
		r := newCounterRig(t, of)
		for range 3 {
			r.current(t, "pods")
			r.current(t, "leases")
			r.move(&rv, 1)
			<-time.After(compareEvery)
		}
		if r.members["leases"].known() != r.members["pods"].known() {
			t.Fatal("they never shared a store")
		}
		r.mu.Lock()
		r.of["leases"] = &other
		r.mu.Unlock()
		for range 5 {
			r.current(t, "pods")
			r.current(t, "leases")
			r.move(&rv, 3)
			r.move(&other, 1)
			<-time.After(compareEvery)
		}
		if r.members["leases"].known() == r.members["pods"].known() {
			t.Error("they still share a store")
		}
	})
}

// A resource for which the upstream does not respond delays no reader of other resources, and no comparison.
func TestUnansweredResourceDelaysNoOther(t *testing.T) {
	for _, founder := range []string{"widgets", "pods"} {
		t.Run("founded by "+founder, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				rv := cache.RV(100)
				of := map[string]*cache.RV{"pods": &rv, "leases": &rv, "widgets": &rv, "nodes": &rv}
				r := newCounterRig(t, of)
				for range 3 {
					r.current(t, founder)
					for _, name := range []string{"pods", "leases", "widgets"} { // nodes are not compared yet
						r.current(t, name)
						r.move(&rv, 1)
					}
					<-time.After(compareEvery)
				}
				r.mu.Lock()
				r.unanswered = "widgets"
				r.mu.Unlock()
				var readers sync.WaitGroup
				for range 3 {
					readers.Go(func() {
						// A probe of another resource may serve them.
						if answer, err := r.members["widgets"].current(t.Context(), 0); err == nil && answer.asked == r.members["widgets"].source {
							t.Errorf("widgets: got version %d, want an error", answer.rv)
						}
					})
					synctest.Wait()
					began := time.Now()
					for _, name := range []string{"pods", "leases", "nodes", "pods"} {
						r.current(t, name)
					}
					if took := time.Since(began); took >= questionWait {
						t.Errorf("got a wait of %s for other resources, want less than %s", took, questionWait)
					}
					<-time.After(compareEvery)
				}
				readers.Wait()
			})
		})
	}
}

// Counters that rise in step cannot be distinguished. So kube-apiserver's health checks decide.
func TestHealthChecksSeparateEtcds(t *testing.T) {
	for name, set := range map[string]func(*counters){
		"names another etcd": func(c *counters) { c.checks += "[+]etcd-override-0 ok\n" },
		"too old":            func(c *counters) { c.minor = "32+" },
		"names no etcd":      func(c *counters) { c.checks = "ok" },
		"unknown version":    func(c *counters) { c.minor = "" },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				rv, leases := cache.RV(100), cache.RV(100)
				r := newCounterRig(t, map[string]*cache.RV{"pods": &rv, "leases": &leases})
				set(r.counters)
				for range 200 { // some minutes
					r.current(t, "pods")
					r.current(t, "leases")
					r.move(&rv, 1)
					r.move(&leases, 1)
					<-time.After(compareEvery)
				}
				if m := r.members["leases"]; m.known() != nil && m.known() == r.members["pods"].known() {
					t.Error("leases and pods share a store")
				}
			})
		})
	}
}

// A resource that the upstream reads from etcd is probed, because that answers immediately. If the facade may not read
// it, another resource is probed.
func TestUncachedResourceIsProbed(t *testing.T) {
	for name, answers := range map[string]bool{"answers": true, "is forbidden": false} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				rv := cache.RV(100)
				r := newCounterRig(t, map[string]*cache.RV{"pods": &rv, "leases": &rv, "events": &rv})
				r.members["pods"].stores.uncached = forbidden{counter{r.counters, "events"}, !answers}
				for range 8 {
					for _, name := range []string{"pods", "leases"} {
						r.current(t, name)
						r.move(&rv, 1)
					}
					<-time.After(2 * compareEvery)
				}
				pods, leases := r.members["pods"].known(), r.members["leases"].known()
				if pods == nil || pods != leases {
					t.Fatal("pods and leases do not share a store")
				}
				before := r.probes["events"]
				for range 10 {
					r.current(t, "pods")
				}
				if n := r.probes["events"] - before; answers != (n == 10) {
					t.Errorf("got %d probes of events, want 10 only if they may be read (%t)", n, answers)
				}
			})
		})
	}
}

// forbidden is a source that may be unreadable.
type forbidden struct {
	counter
	is bool
}

// ResourceVersion implements Source.
func (f forbidden) ResourceVersion(ctx context.Context) (cache.RV, error) {
	if f.is {
		return 0, ErrUnsupported
	}
	return f.counter.ResourceVersion(ctx)
}

// A single failed request does not break up a store, and a resource that wants to join is compared again soon.
func TestSingleFailureKeepsStore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		rv := cache.RV(100)
		of := map[string]*cache.RV{"pods": &rv, "leases": &rv, "nodes": &rv}
		r := newCounterRig(t, of)
		round := func(names ...string) {
			for _, name := range names {
				r.current(t, name)
				r.move(&rv, 1)
			}
			<-time.After(2 * compareEvery)
		}
		r.mu.Lock()
		r.unhealthy = true
		r.mu.Unlock()
		round("pods", "leases")
		r.mu.Lock()
		r.unhealthy = false
		r.mu.Unlock()
		for range 3 {
			round("pods", "leases")
		}
		shared := r.members["pods"].known()
		if shared == nil || shared != r.members["leases"].known() {
			t.Fatal("pods and leases do not share a store after the upstream recovered")
		}
		r.mu.Lock()
		r.refusals = 1
		r.mu.Unlock()
		r.members["nodes"].compare(t.Context(), shared)
		if shared.isBroken() {
			t.Error("the store broke up")
		}
	})
}
