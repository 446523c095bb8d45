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
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// page is the first page of a large list: small, but costly.
var page = Answer{Objects: 500, Bytes: 2 << 20, Page: 500}

// large returns lanes, the first of which makes no roll calls, as if its resource were too large.
func large(t *testing.T, names ...string) (*testUpstream, *testLane) {
	t.Helper()
	u := newUpstream(t, names...)
	l := u.lanes[names[0]]
	l.checker.rolls.postpone(ErrUnsupported)
	return u, l
}

// change raises the upstream's version by a change of a resource without a lane, and returns it.
func (u *testUpstream) change() cache.RV {
	u.elsewhere()
	return u.now()
}

func (u *testUpstream) now() cache.RV {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.rv
}

// subscription returns a Subscription to a resource in the same etcd as the lanes.
func (u *testUpstream) subscription(of *testLane, resource string) *Subscription {
	u.mu.Lock()
	u.of[resource] = &u.rv
	u.mu.Unlock()
	checkers := &Checkers{metrics: noMetrics{}, stores: of.checker.membership.stores}
	return checkers.Subscription(resource, counter{u.counters, resource}, of.start)
}

// unmoved is a Filler whose progress watches make no progress.
type unmoved struct{ *testLane }

// ProgressWatch implements Filler.
func (d unmoved) ProgressWatch(context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.progressWatches++
}

// A read that costs the upstream as much as ten probes is probed, even if nothing is known of the chances. A cheaper
// read is not.
func TestCostlyAnswersAreProbed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		if pods.read(t, page) == 0 {
			t.Error("got no fresh State, want one: nothing has changed")
		}
		asked := u.asked()
		pods.read(t, some)
		if n := u.asked() - asked; n != 0 {
			t.Errorf("got %d probes for a read that costs less than ten, want none", n)
		}
	})
}

// A costly read that a probe does not confirm is forwarded immediately. Meanwhile one progress watch brings the lane up
// to date for the next read.
func TestNextCostlyReadIsFresh(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		u.elsewhere()
		began := time.Now()
		for range 5 {
			if at := pods.read(t, page); at != 0 {
				t.Errorf("got fresh at %d, want unproven: no lane has received it", at)
			}
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("got a wait of %v, want none", took)
		}
		<-time.After(2 * time.Second)
		if pods.read(t, page) == 0 || pods.opened() != 1 {
			t.Errorf("got %d progress watches, want 1 and a fresh State", pods.opened())
		}
		u.elsewhere()
		pods.read(t, some)
		<-time.After(2 * time.Second)
		if pods.opened() != 1 {
			t.Error("got a progress watch for a read that costs less than ten probes, want none")
		}
	})
}

// readAtOnce makes a hundred costly reads at the same time, which neither a probe nor a roll call can confirm. It fails
// the test unless the upstream answers a few, and the others wait for a progress watch.
func (l *testLane) readAtOnce(t *testing.T) {
	t.Helper()
	var readers sync.WaitGroup
	var forwarded, watched atomic.Int64
	began := time.Now()
	for range 100 {
		readers.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch state, check, err := l.checker.Recent(ctx, began, page); {
			case errors.Is(err, ErrUnproven):
				forwarded.Add(1)
				<-time.After(3 * time.Second) // the upstream answers
			case err != nil:
				t.Error(err)
			default:
				watched.Add(1)
				if check != byProgressWatch || state.RV() < l.upstream.now() || time.Since(began) > 3*time.Second {
					t.Errorf("got fresh by %v at %d after %v", check, state.RV(), time.Since(began))
				}
			}
		})
	}
	readers.Wait()
	if want := int64(maxForwarded / page.price()); forwarded.Load() != want || watched.Load() != 100-want {
		t.Errorf("got %d reads forwarded and %d confirmed, want %d of 100 forwarded", forwarded.Load(), watched.Load(), want)
	}
}

// Many costly reads arrive at the same time and a probe cannot confirm them. The upstream answers a few, and the others
// wait for a progress watch.
func TestManyCostlyReadsWaitForProgressWatch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		for range 2 {
			u.elsewhere()
			pods.readAtOnce(t)
			// Progress watches of this round would bring the lane to the version of the next one before it is read.
			<-time.After(progressWatchesFor + progressWatchWait)
		}
	})
}

// The same for a lane that is small enough for a cheap roll call, if an event is late and so the roll call fails.
func TestManyCostlyReadsWaitAfterRollCall(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods")
		pods := u.lanes["pods"]
		pods.heldUp = true
		rv := pods.write(t, "a")
		time.AfterFunc(time.Second/2, func() { pods.deliver(t, "a", rv) })
		pods.readAtOnce(t)
		if pods.calls == 0 {
			t.Error("got no roll call")
		}
	})
}

// The same for reads that are not older than a version.
func TestManyCostlyReadsWaitToReachVersion(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods")
		pods := u.lanes["pods"]
		pods.heldUp = true
		rv := pods.write(t, "a")
		time.AfterFunc(time.Second/2, func() { pods.deliver(t, "a", rv) })
		var readers sync.WaitGroup
		var forwarded atomic.Int64
		for range 100 {
			readers.Go(func() {
				switch err := pods.checker.Reach(t.Context(), rv, page); {
				case errors.Is(err, ErrUnproven):
					forwarded.Add(1)
				case err != nil || !pods.checker.hasReached(rv):
					t.Errorf("got %v, want the lane at %d", err, rv)
				}
			})
		}
		readers.Wait()
		if want := int64(maxForwarded / page.price()); forwarded.Load() != want || pods.calls == 0 {
			t.Errorf("got %d reads forwarded after %d roll calls, want %d of 100 forwarded", forwarded.Load(), pods.calls, want)
		}
	})
}

// Clients that do not read their forwarded answers delay other readers only for as long as the upstream takes to
// answer.
func TestStalledAnswersHoldUpNoReader(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		u.elsewhere()
		stalled, end := context.WithCancel(t.Context())
		defer end()
		for range maxForwarded / page.price() {
			if _, _, err := pods.checker.Recent(stalled, time.Now(), page); !errors.Is(err, ErrUnproven) {
				t.Fatalf("got %v, want ErrUnproven", err)
			}
		}
		<-time.After(answeredWithin)
		u.elsewhere()
		began := time.Now()
		if pods.read(t, page) != 0 || time.Since(began) > 100*time.Millisecond {
			t.Errorf("got a wait of %v, want the read to be forwarded immediately", time.Since(began))
		}
	})
}

// A subscription accounts for the versions of a resource without a lane. After an interruption it does not.
func TestSubscriptionAccountsForVersions(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods", "other")
		u.join(t)
		subscription := u.subscription(pods, "leases")
		for range 4 { // changes start its comparison
			subscription.Received(u.change())
			<-time.After(2 * compareEvery)
		}
		pods.lane.Progress(u.now())
		opened := pods.opened()
		for range 20 {
			rv := u.change()
			time.AfterFunc(shortGrace/2, func() { subscription.Received(rv) }) // in transit during the read
			if pods.read(t, page) != rv {
				t.Fatal("got no fresh State, want one by a probe")
			}
			<-time.After(20 * time.Millisecond)
		}
		if n := pods.opened() - opened; n != 0 {
			t.Errorf("got %d progress watches", n)
		}
		subscription.Received(u.change())
		subscription.Interrupted()
		if at := pods.read(t, page); at != 0 {
			t.Errorf("got fresh at %d by a change received before the interruption, want unproven", at)
		}
	})
}

// Missed signals once for many reads that no lane had received a version. It does not for a store of a single resource.
func TestMissedSignalsUnaccountedVersions(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods", "other")
		checkers := &Checkers{demand: pods.checker.demand}
		missed := func() (n int) {
			for {
				select {
				case <-checkers.Missed():
					n++
				default:
					return n
				}
			}
		}
		pods.checker.noteMissed(reading{store: pods.checker.membership.own})
		if missed() != 0 || checkers.WantedSince(time.Now().Add(-time.Hour)) {
			t.Error("got a signal for the store of a single resource, want none")
		}
		u.join(t)
		missed()
		u.elsewhere()
		pods.read(t, page)
		pods.read(t, page)
		if n := missed(); n != 1 {
			t.Errorf("got %d signals, want 1", n)
		}
		if !checkers.WantedSince(time.Now().Add(-time.Second)) || checkers.WantedSince(time.Now()) {
			t.Error("got a wrong result of WantedSince")
		}
	})
}

// A large lane joins the shared store before its first read. A small lane joins when it is read.
func TestLargeLanesJoin(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "first", "large", "small")
		u.lanes["first"].read(t, page) // founds the shared store
		objects := make([]*cache.Object, rollCallObjects+1)
		for i := range objects {
			objects[i] = cache.NewObject(things.Attributes(selectors.Identity{Namespace: "ns", Name: fmt.Sprint(i)}, nil, nil), 1, wire.Item{})
		}
		u.lanes["large"].lane.Replace(u.now(), nil, objects)
		for range 4 {
			for _, l := range u.lanes {
				l.checker.Join()
			}
			<-time.After(2 * compareEvery)
			u.elsewhere()
		}
		for name, want := range map[string]bool{"first": true, "large": true, "small": false} {
			if got := u.lanes[name].checker.membership.joined.Load() != nil; got != want {
				t.Errorf("%s: got joined %t, want %t", name, got, want)
			}
		}
		asked := u.asked()
		u.lanes["large"].checker.Join()
		synctest.Wait()
		if n := u.asked() - asked; n != 0 {
			t.Errorf("got %d requests for a lane that has joined, want none", n)
		}
	})
}

// A recently read lane is brought up to date before the next read, unless the event of the version may be in transit.
func TestKeepUpOpensProgressWatch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods", "other")
		u.join(t)
		pods.lane.Progress(u.now())
		pods.read(t, page)
		opened := pods.opened()
		u.elsewhere()
		u.lanes["other"].write(t, "a")
		pods.checker.KeepUp()
		synctest.Wait()
		if n := pods.opened() - opened; n != 0 {
			t.Error("got a progress watch for an event that may be in transit, want none")
		}
		pods.checker.KeepUp()
		<-time.After(2 * time.Second)
		if n := pods.opened() - opened; n != 1 {
			t.Errorf("got %d progress watches for an unaccounted version, want 1", n)
		}
		pods.checker.KeepUp()
		pods.checker.KeepUp()
		<-time.After(2 * keptUpFor)
		u.elsewhere()
		u.lanes["other"].write(t, "b")
		pods.checker.KeepUp()
		pods.checker.KeepUp()
		<-time.After(2 * time.Second)
		if n := pods.opened() - opened; n != 1 {
			t.Errorf("got %d progress watches, want 1: the lane is no longer read", n)
		}
	})
}

// late is a Filler whose ProgressWatch returns a moment before the writer applies the bookmark.
type late struct{ *testLane }

// ProgressWatch implements Filler.
func (l late) ProgressWatch(context.Context) {
	l.mu.Lock()
	l.progressWatches++
	l.mu.Unlock()
	<-time.After(time.Second)
	l.start(func(context.Context) {
		<-time.After(50 * time.Microsecond)
		l.upstream.mu.Lock()
		defer l.upstream.mu.Unlock()
		l.lane.Progress(l.upstream.rv)
	})
}

// A progress watch whose bookmark is applied a moment later counts as progress.
func TestProgressWatchMayBeAppliedLater(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		pods.checker.filler = late{pods}
		for want := range 3 {
			if n := pods.opened(); n != want {
				t.Fatalf("got %d progress watches, want %d", n, want)
			}
			u.elsewhere()
			pods.read(t, page)
			<-time.After(2 * time.Second)
		}
	})
}

// KeepUp costs no more than the lane's reads would have cost, however much other clients write.
func TestKeepUpCostsNoMoreThanReads(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods", "other")
		u.join(t)
		pods.lane.Progress(u.now())
		pods.checker.credit.Store(0)
		answer := Answer{Objects: 500, Bytes: 200 << 10, Page: 500}
		pods.read(t, answer)
		opened := pods.opened()
		for range 5 * int(keptUpFor/time.Second) {
			u.elsewhere()
			u.lanes["other"].write(t, "a")
			pods.checker.KeepUp()
			<-time.After(200 * time.Millisecond)
		}
		if n, most := pods.opened()-opened, int(answer.price()/progressWatchPrice); n > most || n == 0 {
			t.Errorf("got %d progress watches for a read, want 1 to %d", n, most)
		}
	})
}

// The interruption of a subscription that received nothing leaves the account unchanged.
func TestIdleSubscriptionLeavesAccount(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods", "other")
		u.join(t)
		pods.lane.Progress(u.now())
		subscription := u.subscription(pods, "leases")
		for range 10 {
			u.lanes["other"].write(t, "a")
			subscription.Interrupted()
			if pods.read(t, page) == 0 {
				t.Fatal("got no fresh State, want one by a probe")
			}
		}
	})
}

// A progress watch without progress is not followed by another one immediately.
func TestProgressWatchPausesAfterNoProgress(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u, pods := large(t, "pods")
		pods.checker.filler = unmoved{pods}
		u.elsewhere()
		for range 5 {
			if _, _, err := pods.checker.Recent(t.Context(), time.Now(), page); !errors.Is(err, ErrUnproven) {
				t.Error(err)
			}
			<-time.After(time.Second)
		}
		if n := pods.opened(); n != 1 {
			t.Errorf("got %d progress watches", n)
		}
		<-time.After(progressWatchPause)
		_, _, _ = pods.checker.Recent(t.Context(), time.Now(), page)
		synctest.Wait()
		if n := pods.opened(); n != 2 {
			t.Errorf("got %d progress watches after the pause, want 2", n)
		}
	})
}
