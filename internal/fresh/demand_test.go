package fresh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
)

// page is the first page of a large list: small, and dear.
var page = Answer{Objects: 500, Bytes: 2 << 20, Page: 500}

// large are lanes of a resource that is too large to be called over.
func large(t *testing.T, names ...string) (*theUpstream, *testLane) {
	t.Helper()
	u := newUpstream(t, names...)
	l := u.lanes[names[0]]
	l.prover.rolls.postpone(ErrUnsupported)
	return u, l
}

// change moves the upstream on by a change of a resource that has no lane.
func (u *theUpstream) change() cache.RV {
	u.elsewhere()
	return u.now()
}

func (u *theUpstream) now() cache.RV {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.rv
}

// ear is one for a resource that is in the same etcd as the lanes.
func (u *theUpstream) ear(of *testLane, resource string) *Subscription {
	u.mu.Lock()
	u.of[resource] = &u.rv
	u.mu.Unlock()
	provers := &Checkers{metrics: nobodyCounts{}, stores: of.prover.membership.stores}
	return provers.Subscription(resource, counter{u.counters, resource}, of.start)
}

// deaf is a Filler whose fences bring nothing.
type deaf struct{ *testLane }

// ProgressWatch implements Filler.
func (d deaf) ProgressWatch(context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fences++
}

// What takes the upstream as much as ten probes is worth one, although nothing is known of the chances; what takes less
// is not.
func TestDearAnswersAreProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		if pods.read(t, page) == 0 {
			t.Error("nothing has changed, and it was not proven")
		}
		asked := u.asked()
		pods.read(t, some)
		if n := u.asked() - asked; n != 0 {
			t.Errorf("%d probes for what costs less than ten", n)
		}
	})
}

// A dear read that a probe does not prove is passed on at once. One fence brings the lane forward meanwhile, for the
// next one.
func TestNextReaderIsProven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		u.elsewhere()
		began := time.Now()
		for range 5 {
			if at := pods.read(t, page); at != 0 {
				t.Errorf("proven at %d, which nobody has heard of", at)
			}
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("waited %v", took)
		}
		<-time.After(2 * time.Second)
		if pods.read(t, page) == 0 || pods.opened() != 1 {
			t.Errorf("not proven after %d fences", pods.opened())
		}
		u.elsewhere()
		pods.read(t, some)
		<-time.After(2 * time.Second)
		if pods.opened() != 1 {
			t.Error("a fence for what costs less than ten probes")
		}
	})
}

// Of many dear reads that come at once and cannot be proven by a probe, the upstream gives a few answers; the others
// wait for a fence.
func TestManyDearReadsWaitForAFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		for round := range 2 {
			u.elsewhere()
			var readers sync.WaitGroup
			var passedOn, fenced atomic.Int64
			began := time.Now()
			for range 100 {
				readers.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					switch state, check, err := pods.prover.Recent(ctx, began, page); {
					case errors.Is(err, ErrUnproven):
						passedOn.Add(1)
						<-time.After(3 * time.Second) // the upstream answers
					case err != nil:
						t.Error(err)
					default:
						fenced.Add(1)
						if check != byProgressWatch || state.RV() < u.now() || time.Since(began) > 3*time.Second {
							t.Errorf("proven by a %v at %d after %v", check, state.RV(), time.Since(began))
						}
					}
				})
			}
			readers.Wait()
			if want := int64(mostPassedOn / page.price()); passedOn.Load() != want || fenced.Load() != 100-want {
				t.Errorf("round %d: %d were passed on and %d fenced, want %d of 100 passed on",
					round, passedOn.Load(), fenced.Load(), want)
			}
		}
	})
}

// Clients that do not read what was passed on to them hold up no reader for longer than the upstream takes to answer.
func TestStalledAnswersHoldUpNoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		u.elsewhere()
		stalled, end := context.WithCancel(t.Context())
		defer end()
		for range mostPassedOn / page.price() {
			if _, _, err := pods.prover.Recent(stalled, time.Now(), page); !errors.Is(err, ErrUnproven) {
				t.Fatalf("got %v, want that it is passed on", err)
			}
		}
		<-time.After(answeredWithin)
		u.elsewhere()
		began := time.Now()
		if pods.read(t, page) != 0 || time.Since(began) > 100*time.Millisecond {
			t.Errorf("waited %v for a fence", time.Since(began))
		}
	})
}

// What an ear has heard of is of a resource without a lane, and none of the others'. After an interruption it is not.
func TestEar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods", "other")
		u.join(t)
		ear := u.ear(pods, "leases")
		for range 4 { // it is compared when it hears something
			ear.Received(u.change())
			<-time.After(2 * compareEvery)
		}
		pods.lane.Progress(u.now())
		opened := pods.opened()
		for range 20 {
			rv := u.change()
			time.AfterFunc(shortGrace/2, func() { ear.Received(rv) }) // it is on its way
			if pods.read(t, page) != rv {
				t.Fatal("not proven")
			}
			<-time.After(20 * time.Millisecond)
		}
		if n := pods.opened() - opened; n != 0 {
			t.Errorf("%d fences", n)
		}
		ear.Received(u.change())
		ear.Interrupted()
		if at := pods.read(t, page); at != 0 {
			t.Errorf("proven at %d by what was heard before an interruption", at)
		}
	})
}

// That nobody has heard of a version is told, once for many readers; not where a resource shares its store with none.
func TestMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods", "other")
		provers := &Checkers{demand: pods.prover.demand}
		missed := func() (n int) {
			for {
				select {
				case <-provers.Missed():
					n++
				default:
					return n
				}
			}
		}
		pods.prover.misses(reading{store: pods.prover.membership.own})
		if missed() != 0 || provers.WantedSince(time.Now().Add(-time.Hour)) {
			t.Error("told of a store of its own")
		}
		u.join(t)
		missed()
		u.elsewhere()
		pods.read(t, page)
		pods.read(t, page)
		if n := missed(); n != 1 {
			t.Errorf("told %d times", n)
		}
		if !provers.WantedSince(time.Now().Add(-time.Second)) || provers.WantedSince(time.Now()) {
			t.Error("it is not known when something dear was wanted")
		}
	})
}

// A large lane joins the shared store before anybody reads it; a small one does when it is read.
func TestLargeLanesJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "first", "large", "small")
		u.lanes["first"].read(t, page) // whom others are compared with
		objects := make([]*cache.Object, rollCallObjects+1)
		for i := range objects {
			objects[i] = cache.NewObject(things.Attributes("ns", fmt.Sprint(i), nil, nil), 1, wire.Item{})
		}
		u.lanes["large"].lane.Replace(u.now(), nil, objects)
		for range 4 {
			for _, l := range u.lanes {
				l.prover.Join()
			}
			<-time.After(2 * compareEvery)
			u.elsewhere()
		}
		for name, want := range map[string]bool{"first": true, "large": true, "small": false} {
			if got := u.lanes[name].prover.membership.joined.Load() != nil; got != want {
				t.Errorf("%s has joined: %t", name, got)
			}
		}
		asked := u.asked()
		u.lanes["large"].prover.Join()
		synctest.Wait()
		if n := u.asked() - asked; n != 0 {
			t.Errorf("%d questions for a lane that has joined", n)
		}
	})
}

// A lane that was read lately is brought forward before the next reader comes, unless the version may be on its way.
func TestKeepUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods", "other")
		u.join(t)
		pods.lane.Progress(u.now())
		pods.read(t, page)
		opened := pods.opened()
		u.elsewhere()
		u.lanes["other"].write(t, "a")
		pods.prover.KeepUp()
		synctest.Wait()
		if n := pods.opened() - opened; n != 0 {
			t.Error("a fence for what may be on its way")
		}
		pods.prover.KeepUp()
		<-time.After(2 * time.Second)
		if n := pods.opened() - opened; n != 1 {
			t.Errorf("%d fences for what nobody has heard of", n)
		}
		pods.prover.KeepUp()
		pods.prover.KeepUp()
		<-time.After(2 * keptUpFor)
		u.elsewhere()
		u.lanes["other"].write(t, "b")
		pods.prover.KeepUp()
		pods.prover.KeepUp()
		<-time.After(2 * time.Second)
		if n := pods.opened() - opened; n != 1 {
			t.Errorf("%d fences, the others for nobody", n)
		}
	})
}

// late is a Filler whose fence returns when the writer has taken its step, a moment before it has applied it.
type late struct{ *testLane }

// ProgressWatch implements Filler.
func (l late) ProgressWatch(context.Context) {
	l.mu.Lock()
	l.fences++
	l.mu.Unlock()
	<-time.After(time.Second)
	l.start(func(context.Context) {
		<-time.After(50 * time.Microsecond)
		l.upstream.mu.Lock()
		defer l.upstream.mu.Unlock()
		l.lane.Progress(l.upstream.rv)
	})
}

// A fence that is applied a moment later has brought the lane forward.
func TestFenceThatIsAppliedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		pods.prover.filler = late{pods}
		for want := range 3 {
			if n := pods.opened(); n != want {
				t.Fatalf("%d fences, want %d", n, want)
			}
			u.elsewhere()
			pods.read(t, page)
			<-time.After(2 * time.Second)
		}
	})
}

// Keeping a lane up takes no more than what was read of it would have taken, whatever others write.
func TestKeepUpHasAPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods", "other")
		u.join(t)
		pods.lane.Progress(u.now())
		pods.prover.credit.Store(0)
		answer := Answer{Objects: 500, Bytes: 200 << 10, Page: 500}
		pods.read(t, answer)
		opened := pods.opened()
		for range 5 * int(keptUpFor/time.Second) {
			u.elsewhere()
			u.lanes["other"].write(t, "a")
			pods.prover.KeepUp()
			<-time.After(200 * time.Millisecond)
		}
		if n, most := pods.opened()-opened, int(answer.price()/progressWatchPrice); n > most || n == 0 {
			t.Errorf("%d fences for a read that is worth %d", n, most)
		}
	})
}

// An ear that has heard nothing takes nothing from the account when it is interrupted.
func TestEarThatHeardNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods", "other")
		u.join(t)
		pods.lane.Progress(u.now())
		ear := u.ear(pods, "leases")
		for range 10 {
			u.lanes["other"].write(t, "a")
			ear.Interrupted()
			if pods.read(t, page) == 0 {
				t.Fatal("not proven")
			}
		}
	})
}

// A fence that brings a lane nowhere is not followed by another at once.
func TestFenceThatBringsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		pods.prover.filler = deaf{pods}
		u.elsewhere()
		for range 5 {
			if _, _, err := pods.prover.Recent(t.Context(), time.Now(), page); !errors.Is(err, ErrUnproven) {
				t.Error(err)
			}
			<-time.After(time.Second)
		}
		if n := pods.opened(); n != 1 {
			t.Errorf("%d fences", n)
		}
		<-time.After(progressWatchPause)
		_, _, _ = pods.prover.Recent(t.Context(), time.Now(), page)
		synctest.Wait()
		if n := pods.opened(); n != 2 {
			t.Errorf("%d fences after the pause", n)
		}
	})
}
