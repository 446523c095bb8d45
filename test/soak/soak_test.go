package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	// usual is the duration of the test without LISTFACADE_SOAK.
	usual = time.Minute
	// margin is the time before the test's deadline in which no further fault starts.
	margin = 3 * time.Minute
)

// TestFaultsAtRandom injects all faults one after the other, in an order and with durations by the seed, and repeats
// that in other orders.
func TestFaultsAtRandom(t *testing.T) {
	settings.Long(t)
	length, random := settings.Duration(t, "LISTFACADE_SOAK", usual), settings.Random(t)
	own, err := testkit.StartCluster(t.Context(), "--components=none", "--apiserver-arg=--shutdown-watch-termination-grace-period=1s",
		"--apiserver-arg=--event-ttl=20s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	s := newSoak(t, own, random)
	s.start(t)
	until := time.Now().Add(length)
	if deadline, limited := t.Deadline(); limited && deadline.Add(-margin).Before(until) {
		until = deadline.Add(-margin)
	}
	for n := 0; time.Now().Before(until); {
		for _, f := range s.shuffled() {
			if !time.Now().Before(until) {
				break
			}
			n++
			s.suffer(t, n, f)
		}
		s.settle(t)
	}
	s.finish(t)
}

// soak is a facade with its clients and its upstream.
type soak struct {
	*suite.Fixture
	t       *testing.T
	cluster *testkit.Cluster
	random  *rand.Rand
	began   time.Time
	seed    uint64

	etcd   *etcd
	truth  *truth
	road   *road
	facade *suite.Facade
	asker  *testkit.Asker
	kinds  []*kind

	writers  map[*kind]*writer
	watchers []*watcher
	readers  []*reader
	onward   *http.Transport // transport of the writers
	stop     func()          // ends the clients and waits for them
	leaks    func() error    // returns an error if goroutines remain

	reading  sync.RWMutex // read-locked by reads, locked by quiet
	phase    atomic.Pointer[phase]
	world    atomic.Int64 // number of restores of etcd
	patient  atomic.Bool  // watches have long timeouts
	refusals atomic.Int64 // failures that a fault explains
	relisted atomic.Int64 // watches that ended with a 410

	mu     sync.Mutex       // guards the fields below
	wrong  int              // errors in this phase
	before map[*kind]uint64 // versions that every watcher had reached at the last restore
	marks  map[*kind]uint64 // versions at the end of the last chapter; used by the test's goroutine only
	backup backup

	bridgedBefore map[*kind][]int // number of replays before each world; used by the test's goroutine only
}

func newSoak(t *testing.T, own *testkit.Cluster, random *rand.Rand) *soak {
	t.Helper()
	s := &soak{
		Fixture: suite.NewFixture(t, own), t: t, cluster: own, random: random, seed: random.Uint64(), began: time.Now(),
		writers: map[*kind]*writer{}, before: map[*kind]uint64{}, bridgedBefore: map[*kind][]int{},
	}
	s.phase.Store(starting)
	s.DefineGadgets(t)
	s.kinds = newKinds(s.Namespace)
	s.etcd = newEtcd(t, own)
	s.truth = newTruth(t, s.etcd, s.kinds)
	s.road = newRoad(t, s.Config)
	client, transport, err := newClient(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	s.onward = transport
	t.Cleanup(transport.CloseIdleConnections)
	for i, k := range s.kinds {
		s.writers[k] = &writer{
			kind: k, truth: s.truth, url: s.Config.Host, client: client, random: s.numbers(i), changed: make(chan struct{}),
		}
		for j, way := range ways(k) {
			s.watchers = append(s.watchers, &watcher{way: way, soak: s, kind: k, random: s.numbers(100 + 10*i + j)})
		}
		for j := range 2 {
			s.readers = append(s.readers, &reader{soak: s, kind: k, number: j, random: s.numbers(1000 + 2*i + j)})
		}
	}
	return s
}

// numbers returns a client's own random numbers, so that clients do not affect the random faults.
func (s *soak) numbers(of int) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, uint64(of))) //nolint:gosec // to be repeatable
}

// start runs the facade and the clients.
func (s *soak) start(t *testing.T) {
	t.Helper()
	running := goleak.IgnoreCurrent()
	s.facade = suite.LaunchFacade(t, s.road.kubeconfig, func(c *facade.Config) { c.BookmarkInterval = time.Second })
	s.facade.AwaitReady(t)
	s.beginWorld()
	var err error
	if s.asker, err = testkit.NewAsker(s.facade.Config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	s.stop = sync.OnceFunc(func() { cancel(); clients.Wait() })
	t.Cleanup(s.stop)
	for _, w := range s.writers {
		clients.Go(func() { w.run(ctx) })
	}
	for _, w := range s.watchers {
		clients.Go(func() { w.run(ctx) })
	}
	for _, r := range s.readers {
		clients.Go(func() { r.run(ctx) })
	}
	s.leaks = func() error { return goleak.Find(running) }
	s.recover(t)
	s.enter(calm)
	s.settle(t)
	s.log("%d watchers, %d readers and %d writers of %d kinds", len(s.watchers), len(s.readers), len(s.writers), len(s.kinds))
}

// log logs a message with the time since the start.
func (s *soak) log(format string, args ...any) {
	s.t.Helper()
	s.t.Logf("%6.1fs: %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// onlyFaults is the environment variable that restricts the faults, as names separated by commas.
const onlyFaults = "LISTFACADE_SOAK_FAULTS"

// shuffled returns all faults in random order.
func (s *soak) shuffled() []fault {
	all := faults()
	if only := os.Getenv(onlyFaults); only != "" {
		all = slices.DeleteFunc(all, func(f fault) bool { return !slices.Contains(strings.Split(only, ","), f.name) })
	}
	s.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// suffer injects a fault, waits until all clients have recovered, and then for some writes without a fault.
func (s *soak) suffer(t *testing.T, n int, f fault) {
	t.Helper()
	lasts := time.Second + time.Duration(s.random.Int64N(int64(4*time.Second)))
	draw := rand.New(rand.NewPCG(s.random.Uint64(), 0)) //nolint:gosec // to be repeatable
	s.enter(&f.phase)
	s.log("fault %d: %s, for %s", n, f.name, lasts.Round(time.Millisecond))
	f.do(t, s, lasts, draw)
	s.log("fault %d has ended", n)
	s.recover(t)
	s.log("all clients have recovered")
	s.enter(calm)
	s.rest(t)
}

// recover waits until every watcher has all writes up to now, and all reads are answered.
func (s *soak) recover(t *testing.T) {
	t.Helper()
	reached := map[*kind]uint64{}
	for _, k := range s.kinds {
		w := s.writers[k]
		w.turn.Lock()
		reached[k] = w.mark(t.Context())
		w.turn.Unlock()
	}
	s.await(t, reached)
	for _, k := range s.kinds {
		for _, q := range []testkit.Question{{Path: k.collection("timeout=30s")}, {Path: k.object(k.name(1)) + "?timeout=30s"}} {
			testkit.Eventually(t, "the facade answers "+q.Path, func() error {
				_, _, ok := s.ask(t.Context(), "the test", q)
				if !ok {
					return errors.New("it does not answer")
				}
				return nil
			})
		}
	}
}

// await waits until every watcher has reached its kind's version and has an open watch.
func (s *soak) await(t *testing.T, reached map[*kind]uint64) {
	t.Helper()
	for _, w := range s.watchers {
		testkit.Eventually(t, fmt.Sprintf("%s: it reaches %d", w, reached[w.kind]), func() error {
			rv, _, open := w.reached()
			if rv < reached[w.kind] || !open {
				return fmt.Errorf("it is at %d, its watch is open: %t; %s", rv, open, w.doing())
			}
			return nil
		})
	}
}

// rest waits for a few writes without a fault.
func (s *soak) rest(t *testing.T) {
	t.Helper()
	const few = 8
	before := map[*kind]int{}
	for _, k := range s.kinds {
		_, before[k], _ = s.writers[k].acknowledged()
	}
	for _, k := range s.kinds {
		testkit.Eventually(t, k.GVR.Resource+" are written", func() error {
			if _, now, _ := s.writers[k].acknowledged(); now < before[k]+few {
				return fmt.Errorf("%d times", now-before[k])
			}
			return nil
		})
	}
}

// life returns the timeout of a watch in seconds.
func (s *soak) life(w *watcher) int {
	switch {
	case s.patient.Load():
		return 3600
	case w.brief:
		return 1 + w.random.IntN(3)
	default:
		return 20 + w.random.IntN(60)
	}
}

// setBack returns the number of restores, and the version of a kind that every watcher had reached at the last one.
func (s *soak) setBack(k *kind) (int, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.world.Load()), s.before[k]
}

// finish ends all clients and the facade, and checks that no goroutine remains.
func (s *soak) finish(t *testing.T) {
	t.Helper()
	s.stop()
	s.facade.Close(t)
	testkit.Eventually(t, "the proxy has no connections", func() error {
		s.facade.CloseIdle() // a connection may have been busy with the end of its last stream when the facade closed
		return s.road.empty()
	})
	s.truth.stop()
	s.road.close()
	s.etcd.client.CloseIdleConnections()
	s.onward.CloseIdleConnections()
	testkit.Eventually(t, "no goroutine remains", s.leaks)
}
