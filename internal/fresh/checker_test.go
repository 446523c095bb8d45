package fresh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// testUpstream is one etcd with resources. Their lanes receive every change unless they are heldUp.
type testUpstream struct {
	*counters
	rv    cache.RV
	lanes map[string]*testLane
}

// testLane is a lane with its Checker, and with the objects that the upstream has. It is Source and Filler.
type testLane struct {
	upstream *testUpstream
	name     string
	lane     *cache.Lane
	checker  *Checker
	start    func(work func(context.Context)) bool

	mu              sync.Mutex
	stored          map[string]cache.RV
	heldUp          bool // whether the lane receives no changes
	calls           int
	progressWatches int
}

func newUpstream(t *testing.T, names ...string) *testUpstream {
	t.Helper()
	u := &testUpstream{rv: 100, lanes: map[string]*testLane{}}
	of := map[string]*cache.RV{}
	for _, name := range names {
		of[name] = &u.rv
	}
	u.counters = &counters{of: of, probes: map[string]int{}, minor: "37", checks: "[+]etcd ok\n"}
	ctx, cancel := context.WithCancel(t.Context())
	var background sync.WaitGroup
	t.Cleanup(func() { cancel(); background.Wait() })
	start := func(work func(context.Context)) bool { background.Go(func() { work(ctx) }); return true }
	checkers := NewCheckers(u.counters, nil, noMetrics{}, start)
	for _, name := range names {
		l := &testLane{upstream: u, name: name, start: start, lane: cache.NewLane(cache.Options{}), stored: map[string]cache.RV{}}
		l.checker = checkers.Checker(Options{Lane: l.lane, Source: l, Filler: l, Resource: name})
		l.lane.Replace(u.rv, nil, nil)
		u.lanes[name] = l
	}
	return u
}

// ResourceVersion implements Source.
func (l *testLane) ResourceVersion(ctx context.Context) (cache.RV, error) {
	return counter{l.upstream.counters, l.name}.ResourceVersion(ctx)
}

// CallRoll implements Source.
func (l *testLane) CallRoll(context.Context) (*RollCall, error) {
	<-time.After(time.Millisecond)
	l.upstream.mu.Lock()
	defer l.upstream.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	call := &RollCall{RV: l.upstream.rv, Versions: map[string]cache.RV{}}
	for key, rv := range l.stored {
		call.Versions[key] = rv
	}
	return call, nil
}

// ProgressWatch implements Filler. It brings a bookmark after a second.
func (l *testLane) ProgressWatch(context.Context) {
	l.mu.Lock()
	l.progressWatches++
	l.mu.Unlock()
	<-time.After(time.Second)
	l.upstream.mu.Lock()
	defer l.upstream.mu.Unlock()
	l.lane.Progress(l.upstream.rv)
}

// opened returns how many progress watches were opened.
func (l *testLane) opened() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progressWatches
}

// Start implements Filler.
func (l *testLane) Start(work func(context.Context)) bool { return l.start(work) }

// write changes an object at a new version. The lane receives the change immediately unless it is heldUp.
func (l *testLane) write(t *testing.T, name string) cache.RV {
	t.Helper()
	l.upstream.mu.Lock()
	l.upstream.rv++
	rv := l.upstream.rv
	l.mu.Lock()
	l.stored["ns/"+name] = rv
	heldUp := l.heldUp
	l.mu.Unlock()
	l.upstream.mu.Unlock()
	if !heldUp {
		l.deliver(t, name, rv)
	}
	return rv
}

// things is a kind that Kubernetes does not have.
var things = selectors.ForBuiltin(schema.GroupVersionKind{Kind: "Thing"}, selectors.Namespaced)

func (l *testLane) deliver(t *testing.T, name string, rv cache.RV) {
	t.Helper()
	object := cache.NewObject(things.Attributes(selectors.Identity{Namespace: "ns", Name: name}, nil, nil), rv, wire.Item{})
	if err := l.lane.Apply(cache.Change{Kind: cache.Upsert, Object: object}); err != nil {
		t.Fatal(err)
	}
	l.checker.Changed(rv)
}

// elsewhere raises the upstream's version by a change that no lane receives.
func (u *testUpstream) elsewhere() { u.move(&u.rv, 1) }

// join reads until all lanes share a store.
func (u *testUpstream) join(t *testing.T) {
	t.Helper()
	for range 6 {
		for _, l := range u.lanes {
			l.checker.membership.seek(l.start)
			l.write(t, "joining")
		}
		<-time.After(2 * compareEvery)
	}
	for name, l := range u.lanes {
		if l.checker.membership.joined.Load() == nil {
			t.Fatalf("%s is not in the shared store", name)
		}
	}
	// The rate of unaccounted versions is measured by probes.
	for range 4 {
		for _, l := range u.lanes {
			l.read(t, Endless())
		}
		<-time.After(settleTime)
	}
}

// read makes a most recent read and returns its version, or 0 if no check succeeded. It fails the test if the result is
// stale.
func (l *testLane) read(t *testing.T, answer Answer) cache.RV {
	t.Helper()
	l.upstream.mu.Lock()
	newest := map[string]cache.RV{}
	for key, rv := range l.stored {
		newest[key] = rv
	}
	now := l.upstream.rv
	l.upstream.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	state, _, err := l.checker.Recent(ctx, time.Now(), answer)
	if errors.Is(err, ErrUnproven) {
		<-time.After(time.Millisecond) // the upstream answers
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	if state.RV() < now {
		t.Errorf("read at %d, the upstream was at %d", state.RV(), now)
	}
	for key, rv := range newest {
		if o, ok := state.Get(key); !ok || o.RV < rv {
			t.Errorf("%s is stale at %d: it was written at %d", key, state.RV(), rv)
		}
	}
	return state.RV()
}

// some is an answer that costs more than a probe, but does not justify a progress watch.
var some = Answer{Objects: 100, Bytes: 100 << 10}

// Changes that the lanes of other resources received do not concern a quiet lane. A shared probe confirms it, although
// the upstream's version rises all the time.
func TestQuietLaneIsConfirmedByProbe(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "leases", "quiet")
		u.join(t)
		quiet := u.lanes["quiet"]
		before := quiet.calls
		for range 50 {
			u.lanes["pods"].write(t, "a")
			u.lanes["leases"].write(t, "b")
			if quiet.read(t, some) == 0 {
				t.Fatal("got no fresh State, want one by a probe")
			}
			<-time.After(20 * time.Millisecond)
		}
		if quiet.calls != before {
			t.Errorf("got %d roll calls, want none", quiet.calls-before)
		}
	})
}

// A lane misses a change of its own resource that it has not received, and no check may pass over it.
func TestUndeliveredChangePreventsProbe(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "leases")
		u.join(t)
		pods := u.lanes["pods"]
		pods.heldUp = true
		rv := pods.write(t, "a")
		u.lanes["leases"].write(t, "b")
		if at := pods.read(t, some); at != 0 {
			t.Errorf("got fresh at %d, want unproven: %d was not delivered", at, rv)
		}
		time.AfterFunc(shortGrace/2, func() { pods.deliver(t, "a", rv) })
		if pods.read(t, some) == 0 {
			t.Error("got no fresh State, want one after the delivery")
		}
	})
}

// Two lanes of one resource, for two encodings: one may lack a change that the other has received.
func TestLanesOfOneResourceReceiveChangesSeparately(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "pods in protobuf")
		u.lanes["pods in protobuf"].checker.resource = "pods"
		u.join(t)
		other := u.lanes["pods in protobuf"]
		rv := u.lanes["pods"].write(t, "a")
		if missing := other.checker.membership.store().account.missing("pods", rv-1, rv); missing != rv {
			t.Errorf("got missing version %d", missing)
		}
	})
}

// A version that no lane receives may be of any resource. A roll call confirms the lane past it.
func TestRollCallPassesUnaccountedVersion(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "quiet")
		u.join(t)
		quiet := u.lanes["quiet"]
		calls := quiet.calls
		u.elsewhere()
		if quiet.read(t, some) == 0 {
			t.Error("got no fresh State, want one by a roll call")
		}
		if quiet.calls != calls+1 {
			t.Errorf("got %d roll calls, want 1", quiet.calls-calls)
		}
		for range 10 { // from there on nothing is missing
			quiet.read(t, some)
		}
		if quiet.calls != calls+1 {
			t.Errorf("got %d roll calls in total, want 1", quiet.calls-calls)
		}
	})
}

// After an interruption the upstream may assign versions again, so the account is reset.
func TestInterruptionResetsAccount(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "quiet")
		u.join(t)
		rv := u.lanes["pods"].write(t, "a")
		account := u.lanes["quiet"].checker.membership.store().account
		if missing := account.missing("quiet", rv-1, rv); missing != 0 {
			t.Fatalf("got missing version %d, want none", missing)
		}
		u.lanes["pods"].checker.membership.leave() // a lane that has left the store may have added the version before
		u.lanes["pods"].checker.Interrupted()
		if missing := account.missing("quiet", rv-1, rv); missing != rv {
			t.Errorf("got missing version %d after the interruption, want %d", missing, rv)
		}
	})
}

// A single reader whose answer is as cheap as a probe goes to the upstream. Many readers share requests.
func TestSharingGrowsWithLoad(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "quiet")
		u.join(t)
		quiet := u.lanes["quiet"]
		asked, calls := u.asked(), quiet.calls
		if rv := quiet.read(t, Answer{Objects: 1}); rv != 0 || u.asked() != asked || quiet.calls != calls {
			t.Errorf("single reader: got fresh at %d, want unproven without a request", rv)
		}
		var readers sync.WaitGroup
		for range 200 {
			readers.Go(func() { quiet.read(t, Answer{Objects: 1}) })
		}
		readers.Wait()
		if n := u.asked() - asked + quiet.calls - calls; n > 4 {
			t.Errorf("got %d requests for 200 readers, want 4 at most", n)
		}
	})
}

// The upstream's version rises all the time and no lane receives the changes. Many readers of one lane share a roll
// call. For a single reader no roll call is made that costs more than the answer.
func TestRollCallNeverCostsMoreThanAnswers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "quiet")
		quiet := u.lanes["quiet"]
		for i := range 300 {
			quiet.write(t, fmt.Sprint(i))
		}
		<-time.After(time.Second)
		for range 4 {
			u.elsewhere()
			if rv := quiet.read(t, Answer{Objects: 1}); rv != 0 {
				t.Errorf("single reader: got fresh at %d, want unproven", rv)
			}
		}
		if quiet.calls != 0 {
			t.Errorf("got %d roll calls for single objects, want none", quiet.calls)
		}
		u.elsewhere()
		var readers sync.WaitGroup
		for range 100 {
			readers.Go(func() { quiet.read(t, Answer{Objects: 1}) })
		}
		readers.Wait()
		if quiet.calls == 0 || quiet.calls > 3 {
			t.Errorf("got %d roll calls for a hundred readers, want 1 to 3", quiet.calls)
		}
	})
}

// A lane with other objects at the version of a roll call is wrong. No check confirms it until it is listed again, not
// even for the reader of a large answer who has noticed it.
func TestContradictedLaneIsNotFresh(t *testing.T) {
	for _, answer := range []Answer{some, Endless()} {
		testContradiction(t, answer)
	}
}

func testContradiction(t *testing.T, answer Answer) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "quiet")
		quiet := u.lanes["quiet"]
		rv := quiet.write(t, "a")
		quiet.stored = map[string]cache.RV{"ns/b": rv} // as in another history
		<-time.After(time.Second)
		if state, check, err := quiet.checker.Recent(t.Context(), time.Now(), answer); !errors.Is(err, ErrUnproven) {
			t.Errorf("got fresh State %v by %v, want ErrUnproven", state, check)
		}
		if found := quiet.checker.Contradiction(); !quiet.checker.Contradicted() || !errors.Is(found, ErrContradicted) {
			t.Errorf("got contradiction %v, want ErrContradicted", found)
		}
		<-quiet.checker.Doubted()
		// Until it is listed again, no check succeeds. That includes a probe at the same version.
		if _, _, err := quiet.checker.Recent(t.Context(), time.Now(), Endless()); !errors.Is(err, ErrContradicted) {
			t.Errorf("before the new list: got %v, want ErrContradicted", err)
		}
		quiet.lane.Replace(rv, nil, []*cache.Object{cache.NewObject(things.Attributes(selectors.Identity{Namespace: "ns", Name: "b"}, nil, nil), rv, wire.Item{})})
		quiet.checker.Replaced()
		if _, _, err := quiet.checker.Recent(t.Context(), time.Now(), Endless()); err != nil {
			t.Errorf("after the new list: got %v, want a fresh State", err)
		}
	})
}

// differing is a Source that has another object than its lane at the version of its roll call.
type differing struct {
	*testLane
	t *testing.T
}

// CallRoll implements Source. The lane reaches the version during the call.
func (d differing) CallRoll(ctx context.Context) (*RollCall, error) {
	call, err := d.testLane.CallRoll(ctx)
	d.deliver(d.t, "other", call.RV)
	return call, err
}

// A lane that reaches a version with other objects has not reached it, even if the upstream already gives too many
// costly answers.
func TestContradictedLaneDoesNotReachVersion(t *testing.T) {
	for _, answer := range []Answer{page, Endless()} {
		bubble.Test(t, func(t *testing.T) {
			quiet := newUpstream(t, "quiet").lanes["quiet"]
			quiet.checker.membership.source = differing{quiet, t}
			quiet.checker.forwarded.Store(int64(maxForwarded))
			quiet.heldUp = true
			rv := quiet.write(t, "a")
			err := quiet.checker.Reach(t.Context(), rv, answer)
			if !errors.Is(err, ErrContradicted) || !quiet.checker.Contradicted() || quiet.opened() != 0 {
				t.Errorf("got %v, contradicted %t and %d progress watches, want ErrContradicted, true and 0",
					err, quiet.checker.Contradicted(), quiet.opened())
			}
		})
	}
}

// contradict records that a check has found the lane to be wrong.
func (l *testLane) contradict() {
	_ = l.checker.trust.distrust(l.checker.trust.present.Load(), ErrContradicted)
}

// A reader that waits for a progress watch gets no State of a lane that another reader has found to be wrong.
func TestContradictionDuringProgressWatch(t *testing.T) {
	for name, read := range map[string]func(context.Context, *Checker, cache.RV) error{
		"Recent": func(ctx context.Context, c *Checker, _ cache.RV) error {
			_, _, err := c.Recent(ctx, time.Now(), Endless())
			return err
		},
		"Reach": func(ctx context.Context, c *Checker, rv cache.RV) error { return c.Reach(ctx, rv, Endless()) },
	} {
		bubble.Test(t, func(t *testing.T) {
			u, pods := large(t, "pods")
			rv := u.change()
			time.AfterFunc(time.Second/2, pods.contradict)
			if err := read(t.Context(), pods.checker, rv); !errors.Is(err, ErrContradicted) {
				t.Errorf("%s: got %v, want ErrContradicted", name, err)
			}
			if pods.opened() == 0 || !pods.checker.hasReached(rv) {
				t.Errorf("%s: got no bookmark, want one that brings the lane to the upstream's version", name)
			}
		})
	}
}

// The account contains the latest versions. It has no entry for older ones.
func TestAccountIsBounded(t *testing.T) {
	a := newAccount(8)
	for rv := cache.RV(1); rv <= 20; rv++ {
		a.note("pods", rv)
	}
	a.note("pods", 3) // late: a higher version uses the entry
	for _, c := range []struct{ after, upTo, want cache.RV }{{12, 20, 0}, {11, 20, 12}, {12, 21, 13}, {19, 19, 0}, {19, 21, 21}, {2, 3, 3}} {
		if missing := a.missing("quiet", c.after, c.upTo); missing != c.want {
			t.Errorf("after %d, up to %d: got missing version %d, want %d", c.after, c.upTo, missing, c.want)
		}
	}
}
