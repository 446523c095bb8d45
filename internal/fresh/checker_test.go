package fresh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// theUpstream is one etcd with resources whose lanes hear of every change, unless they are held up.
type theUpstream struct {
	*counters
	rv    cache.RV
	lanes map[string]*testLane
}

// testLane is a lane with its prover and the objects that the upstream has of it. It is Source and Filler.
type testLane struct {
	upstream *theUpstream
	name     string
	lane     *cache.Lane
	prover   *Checker
	start    func(work func(context.Context)) bool

	mu         sync.Mutex
	stored     map[string]cache.RV
	heldUp     bool // nothing is delivered
	calls      int
	fences     int
	contradict int
}

func newUpstream(t *testing.T, names ...string) *theUpstream {
	t.Helper()
	u := &theUpstream{rv: 100, lanes: map[string]*testLane{}}
	of := map[string]*cache.RV{}
	for _, name := range names {
		of[name] = &u.rv
	}
	u.counters = &counters{of: of, probes: map[string]int{}, minor: "37", checks: "[+]etcd ok\n"}
	ctx, cancel := context.WithCancel(t.Context())
	var background sync.WaitGroup
	t.Cleanup(func() { cancel(); background.Wait() })
	start := func(work func(context.Context)) bool { background.Go(func() { work(ctx) }); return true }
	provers := NewCheckers(u.counters, nil, nobodyCounts{}, start)
	for _, name := range names {
		l := &testLane{upstream: u, name: name, start: start, lane: cache.NewLane(cache.Options{}), stored: map[string]cache.RV{}}
		l.prover = provers.Checker(Options{Lane: l.lane, Source: l, Filler: l, Resource: name})
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

// ProgressWatch implements Filler. A bookmark comes after a second, to a lane that nothing else happens to.
func (l *testLane) ProgressWatch(context.Context) {
	l.mu.Lock()
	l.fences++
	l.mu.Unlock()
	<-time.After(time.Second)
	l.upstream.mu.Lock()
	defer l.upstream.mu.Unlock()
	l.lane.Progress(l.upstream.rv)
}

// opened is how many fences were.
func (l *testLane) opened() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fences
}

// SetBack implements Filler.
func (l *testLane) SetBack() {}

// Contradicted implements Filler.
func (l *testLane) Contradicted() { l.contradict++ }

// Start implements Filler.
func (l *testLane) Start(work func(context.Context)) bool { return l.start(work) }

// write changes an object, at a version of its own; the lane hears of it at once.
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

// things are a kind that nobody has heard of.
var things = selectors.ForBuiltin(schema.GroupVersionKind{Kind: "Thing"}, selectors.Namespaced)

func (l *testLane) deliver(t *testing.T, name string, rv cache.RV) {
	t.Helper()
	object := cache.NewObject(things.Attributes("ns", name, nil, nil), rv, wire.Item{})
	if err := l.lane.Apply(cache.Change{Kind: cache.Upsert, Object: object}); err != nil {
		t.Fatal(err)
	}
	l.prover.Changed(rv)
}

// elsewhere moves the upstream on by something that no lane is about.
func (u *theUpstream) elsewhere() { u.move(&u.rv, 1) }

// join reads until all lanes share a store.
func (u *theUpstream) join(t *testing.T) {
	t.Helper()
	for range 6 {
		for _, l := range u.lanes {
			l.prover.membership.seek(l.start)
			l.write(t, "joining")
		}
		<-time.After(2 * compareEvery)
	}
	for name, l := range u.lanes {
		if l.prover.membership.joined.Load() == nil {
			t.Fatalf("%s is not in the shared store", name)
		}
	}
	// How much is unheard is learned from questions.
	for range 4 {
		for _, l := range u.lanes {
			l.read(t, Endless())
		}
		<-time.After(settleTime)
	}
}

// read reads most recently and returns the version; 0 when nothing could be proven. It holds that nothing is stale.
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
	state, _, err := l.prover.Recent(ctx, time.Now(), answer)
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

// some is an answer that is dearer than a probe, and no reason to wait for a fence.
var some = Answer{Objects: 100, Bytes: 100 << 10}

// What the lanes of other resources have heard of is no change of a quiet one: it is proven by a probe, which all
// share, although the upstream's version moves on and on.
func TestQuietLaneBesideBusyOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "leases", "quiet")
		u.join(t)
		quiet := u.lanes["quiet"]
		before := quiet.calls
		for range 50 {
			u.lanes["pods"].write(t, "a")
			u.lanes["leases"].write(t, "b")
			if quiet.read(t, some) == 0 {
				t.Fatal("not proven")
			}
			<-time.After(20 * time.Millisecond)
		}
		if quiet.calls != before {
			t.Errorf("%d roll calls", quiet.calls-before)
		}
	})
}

// A change that is not delivered yet is no other resource's, whoever asks.
func TestChangeThatIsHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "leases")
		u.join(t)
		pods := u.lanes["pods"]
		pods.heldUp = true
		rv := pods.write(t, "a")
		u.lanes["leases"].write(t, "b")
		if at := pods.read(t, some); at != 0 {
			t.Errorf("proven at %d, %d was not delivered", at, rv)
		}
		time.AfterFunc(shortGrace/2, func() { pods.deliver(t, "a", rv) })
		if pods.read(t, some) == 0 {
			t.Error("not proven although it came")
		}
	})
}

// Two lanes of one resource, as of two encodings: what one has heard of, the other may not have.
func TestTwoLanesOfOneResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "pods in protobuf")
		u.lanes["pods in protobuf"].prover.resource = "pods"
		u.join(t)
		other := u.lanes["pods in protobuf"]
		rv := u.lanes["pods"].write(t, "a")
		if lost := other.prover.membership.store().account.missing("pods", rv-1, rv); lost != rv {
			t.Errorf("the gap is at %d", lost)
		}
	})
}

// A version that no lane hears of may be anybody's. A roll call steps over it.
func TestVersionThatNobodyHearsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "quiet")
		u.join(t)
		quiet := u.lanes["quiet"]
		calls := quiet.calls
		u.elsewhere()
		if quiet.read(t, some) == 0 {
			t.Error("not proven")
		}
		if quiet.calls != calls+1 {
			t.Errorf("%d roll calls", quiet.calls-calls)
		}
		for range 10 { // from there on nothing is missing
			quiet.read(t, some)
		}
		if quiet.calls != calls+1 {
			t.Errorf("%d roll calls in all", quiet.calls-calls)
		}
	})
}

// After an interruption versions may be given out once more: what was heard of before says nothing.
func TestInterruptedLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "quiet")
		u.join(t)
		rv := u.lanes["pods"].write(t, "a")
		account := u.lanes["quiet"].prover.membership.store().account
		if lost := account.missing("quiet", rv-1, rv); lost != 0 {
			t.Fatalf("the gap is at %d", lost)
		}
		u.lanes["pods"].prover.membership.leave() // who is no longer in the store may have noted it all the same
		u.lanes["pods"].prover.Interrupted()
		if lost := account.missing("quiet", rv-1, rv); lost != rv {
			t.Errorf("after the interruption the gap is at %d", lost)
		}
	})
}

// A reader alone, whose answer is as cheap as a question, is the upstream's; many at a time share questions.
func TestSharingGrowsWithLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "pods", "quiet")
		u.join(t)
		quiet := u.lanes["quiet"]
		asked, calls := u.asked(), quiet.calls
		if rv := quiet.read(t, Answer{Objects: 1}); rv != 0 || u.asked() != asked || quiet.calls != calls {
			t.Errorf("alone: proven at %d", rv)
		}
		var readers sync.WaitGroup
		for range 200 {
			readers.Go(func() { quiet.read(t, Answer{Objects: 1}) })
		}
		readers.Wait()
		if n := u.asked() - asked + quiet.calls - calls; n > 4 {
			t.Errorf("200 readers cost %d questions", n)
		}
	})
}

// Where the upstream moves on all the time, and nobody hears of it, readers of one lane share a roll call, and who is
// alone is not called over for more than his answer costs.
func TestRollCallIsWorthIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "quiet")
		quiet := u.lanes["quiet"]
		for i := range 300 {
			quiet.write(t, fmt.Sprint(i))
		}
		<-time.After(time.Second)
		for range 4 {
			u.elsewhere()
			if rv := quiet.read(t, Answer{Objects: 1}); rv != 0 {
				t.Errorf("one alone is proven at %d", rv)
			}
		}
		if quiet.calls != 0 {
			t.Errorf("%d roll calls for single objects", quiet.calls)
		}
		u.elsewhere()
		var readers sync.WaitGroup
		for range 100 {
			readers.Go(func() { quiet.read(t, Answer{Objects: 1}) })
		}
		readers.Wait()
		if quiet.calls == 0 || quiet.calls > 3 {
			t.Errorf("%d roll calls for a hundred readers", quiet.calls)
		}
	})
}

// Other objects at the version of the call itself: the lane is wrong, and says so.
func TestContradiction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "quiet")
		quiet := u.lanes["quiet"]
		rv := quiet.write(t, "a")
		quiet.stored = map[string]cache.RV{"ns/b": rv} // as in another history
		<-time.After(time.Second)
		if state, _, err := quiet.prover.Recent(t.Context(), time.Now(), some); !errors.Is(err, ErrUnproven) {
			t.Errorf("proven: %v", state)
		}
		if quiet.contradict != 1 {
			t.Errorf("told %d times", quiet.contradict)
		}
		// Until it is listed again nothing proves it, a probe at the very version included.
		if _, _, err := quiet.prover.Recent(t.Context(), time.Now(), Endless()); !errors.Is(err, ErrUnproven) {
			t.Errorf("proven before the new list: %v", err)
		}
		quiet.lane.Replace(rv, nil, []*cache.Object{cache.NewObject(things.Attributes("ns", "b", nil, nil), rv, wire.Item{})})
		quiet.prover.Replaced()
		if _, _, err := quiet.prover.Recent(t.Context(), time.Now(), Endless()); err != nil {
			t.Errorf("not proven after the new list: %v", err)
		}
	})
}

// The account holds the latest versions; those whose places others took are not known any more.
func TestAccountIsBounded(t *testing.T) {
	a := newAccount(8)
	for rv := cache.RV(1); rv <= 20; rv++ {
		a.note("pods", rv)
	}
	a.note("pods", 3) // late, in the place of another
	for _, c := range []struct{ after, upTo, gap cache.RV }{{12, 20, 0}, {11, 20, 12}, {12, 21, 13}, {19, 19, 0}, {19, 21, 21}, {2, 3, 3}} {
		if lost := a.missing("quiet", c.after, c.upTo); lost != c.gap {
			t.Errorf("after %d, up to %d, the gap is at %d, not %d", c.after, c.upTo, lost, c.gap)
		}
	}
}
