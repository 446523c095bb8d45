package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// shortFaults are the faults of TestFaults in a short run: one of each kind of loss.
var shortFaults = []string{"killed and restarted", "compacted", "compacted, bridged", "down", "facade restarted"}

// TestFaults injects faults into its own upstream.
func TestFaults(t *testing.T) {
	t.Parallel() // this test has its own cluster
	// Without the flag a kube-apiserver that shuts down keeps its watches open for a minute.
	own, err := testkit.StartCluster(t.Context(), "--components=none", "--apiserver-arg=--shutdown-watch-termination-grace-period=1s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	suite.NewFixture(t, own).DefineGadgets(t)
	for name, test := range map[string]func(*testing.T, *survivors){
		"killed and restarted":  testKilled,
		"stopped and restarted": testStopped,
		"paused":                testPaused,
		"compacted":             testCompacted,
		"compacted, bridged":    testCompactedBridged,
		"under informers":       testInformersOverRestart,
		"store killed":          testStoreKilled,
		"down":                  testDown,
		"stale":                 testStale,
		"pages, compacted":      testPagesCompacted,
		"pages, restarted":      testPagesRestarted,
		"paused, read":          testPausedReads,
		"facade restarted":      testFacadeRestarted,
	} {
		var changes []func(*facade.Config)
		if name == "compacted" {
			changes = append(changes, withoutBridges)
		}
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(shortFaults, name) {
				settings.Long(t)
			}
			test(t, newSurvivors(t, own, changes...))
		})
	}
}

// withoutBridges configures a facade that ends its watches with a 410 instead of a replay, like kube-apiserver.
func withoutBridges(c *facade.Config) { c.ReplayLostWindows = false }

// survivors contains a facade with its upstream, and two clients that must survive the faults.
type survivors struct {
	*suite.Fixture
	cluster  *testkit.Cluster
	run      *suite.Facade
	oracle   *testkit.Oracle
	client   *resuming
	informer toolscache.SharedIndexInformer
	writes   []uint64
}

func newSurvivors(t *testing.T, own *testkit.Cluster, settings ...func(*facade.Config)) *survivors {
	t.Helper()
	settings = append([]func(*facade.Config){surviving}, settings...)
	return survivorsOf(t, own, suite.StartFacade(t, own, settings...))
}

// surviving configures a facade that sends bookmarks often, and serves stale data for longer than any fault of a test.
func surviving(c *facade.Config) {
	c.BookmarkInterval, c.MaxStaleness = 100*time.Millisecond, 10*time.Minute
}

// survivorsOf returns survivors whose facade reads the cluster through a kubeconfig.
func survivorsOf(t *testing.T, own *testkit.Cluster, run *suite.Facade) *survivors {
	t.Helper()
	s := &survivors{Fixture: suite.NewFixture(t, own), cluster: own, run: run}
	s.oracle = s.Oracle(t, s.run)
	s.client = newResuming(t, s.oracle.Facade, suite.Collection(suite.ConfigMaps, s.Namespace))
	s.informer = dynamicinformer.NewFilteredDynamicSharedInformerFactory(suite.NewClients(t, s.run.Config).Dynamic, 0, s.Namespace, nil).
		ForResource(suite.ConfigMaps).Informer()
	suite.StartInformer(t, s.informer)
	testkit.Eventually(t, "the client watches", func() error {
		if _, opened, _ := s.client.look(); opened == 0 {
			return errors.New("it does not watch yet")
		}
		return nil
	})
	s.change(t)
	return s
}

// change writes some objects, and waits until the client has received them.
func (s *survivors) change(t *testing.T) {
	t.Helper()
	s.write(t)
	s.client.reaches(t, s.writes[len(s.writes)-1])
}

func (s *survivors) write(t *testing.T) {
	t.Helper()
	for i := range 10 {
		s.writes = append(s.writes, s.Put(t, suite.ConfigMaps, fmt.Sprintf("o%d", i%4), "t=a", fmt.Sprint(len(s.writes))))
	}
	s.Remove(t, suite.ConfigMaps, "o3")
	s.writes = append(s.writes, s.Put(t, suite.ConfigMaps, "mark", "", fmt.Sprint(len(s.writes))))
}

// do sends a command to kube-apiserver.
func (s *survivors) do(t *testing.T, command string) {
	t.Helper()
	s.doTo(t, "kube-apiserver", command)
}

// doTo sends a command to one of several kube-apiservers.
func (s *survivors) doTo(t *testing.T, server, command string) {
	t.Helper()
	if err := s.cluster.Do(t.Context(), server, command); err != nil {
		t.Fatal(err)
	}
}

// survived checks that both clients have the upstream's state, and received no event twice.
func (s *survivors) survived(t *testing.T) {
	t.Helper()
	s.change(t)
	s.Converges(t, suite.ConfigMaps, s.informer)
	lost, _ := s.run.LostWindows(suite.ConfigMaps)
	s.client.lostNothing(t, s.writes, s.Present(t, suite.ConfigMaps, metav1.ListOptions{}), lost["json"]...)
	_, opened, listed := s.client.look()
	t.Logf("the client opened %d watches and listed %d times", opened, listed)
}

func testKilled(t *testing.T, s *survivors) {
	for range settings.Amount(1, 2) {
		s.do(t, "kill")
		s.do(t, "start")
		s.write(t)
	}
	s.survived(t)
}

func testStopped(t *testing.T, s *survivors) {
	s.do(t, "restart")
	s.write(t)
	s.survived(t)
}

func testPaused(t *testing.T, s *survivors) {
	_, opened, listed := s.client.look()
	s.do(t, "pause")
	for range 20 {
		if code, body := s.ask(t, "?resourceVersion=0"); code != http.StatusOK || !strings.Contains(body, `"name":"mark"`) {
			t.Errorf("at version 0: %d %s", code, body)
		}
	}
	if code, body := s.ask(t, "?timeout=1s"); code == http.StatusOK {
		t.Errorf("a consistent read without a freshness check: %s", body)
	}
	s.do(t, "continue")
	s.survived(t)
	if _, o, l := s.client.look(); o != opened || l != listed {
		t.Errorf("the client's watch did not stay open: %d watches and %d lists before, %d and %d after", opened, listed, o, l)
	}
}

// testCompacted removes the upstream's window, without replay. The facade must list again, and then its clients, which
// receive a 410 (I11).
func testCompacted(t *testing.T, s *survivors) {
	_, _, listed := s.client.look()
	s.compact(t)
	s.survived(t)
	if _, _, now := s.client.look(); now == listed {
		t.Error("the client did not receive a 410")
	}
	s.forgotten(t)
}

// testCompactedBridged is testCompacted with replay: the watches of clients stay open.
func testCompactedBridged(t *testing.T, s *survivors) {
	_, opened, listed := s.client.look()
	rounds := settings.Amount(1, 2)
	for range rounds {
		s.compact(t)
		s.survived(t)
	}
	if _, o, l := s.client.look(); o != opened || l != listed {
		t.Errorf("the client's watch did not stay open: %d watches and %d lists before, %d and %d after", opened, listed, o, l)
	}
	if lost, others := s.run.LostWindows(suite.ConfigMaps); len(lost["json"]) != rounds || len(others) > 0 {
		t.Errorf("the lost windows are %v, those not replayed: %v", lost, others)
	}
	s.forgotten(t)
}

// compact removes the window, and writes.
func (s *survivors) compact(t *testing.T) {
	t.Helper()
	// Other resources move on to the very end, so that the restarted server's window begins above the facade's
	// version, whatever bookmark that comes from.
	s.Put(t, suite.Gadgets, "g", "", "first")
	var moving sync.WaitGroup
	moves := make(chan struct{})
	begun := sync.OnceFunc(func() { close(moves) })
	moving.Go(func() {
		defer begun()
		for i := 0; ; i++ {
			if i == 10 {
				begun()
			}
			patch := fmt.Appendf(nil, `{"spec":{"value":"%d"}}`, i)
			if _, err := s.In(suite.Gadgets).Patch(t.Context(), "g", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				return // it is killed
			}
		}
	})
	<-moves
	s.do(t, "kill")
	moving.Wait()
	if err := s.cluster.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.do(t, "start")
	s.write(t)
}

// forgotten compares watches from a version that is too old. The error is that of kube-apiserver's cache or, for
// resources without a cache, of etcd.
func (s *survivors) forgotten(t *testing.T) {
	t.Helper()
	for _, path := range []string{
		suite.Collection(suite.ConfigMaps, s.Namespace), suite.Collection(suite.Events, s.Namespace), "/apis/events.k8s.io/v1/events",
	} {
		for _, accept := range []string{suite.AcceptJSON, "application/json;as=Table;v=v1;g=meta.k8s.io"} {
			q := testkit.Question{Path: path + "?watch=1&resourceVersion=1&timeoutSeconds=5", Header: suite.Accepting(accept)}
			if diff, err := s.oracle.StreamDifference(t.Context(), q); err != nil || diff != "" {
				t.Errorf("%s: %v\n%s", q, err, diff)
			}
		}
	}
}

// testStoreKilled restarts etcd: kube-apiserver loses its watches and ends those of clients.
func testStoreKilled(t *testing.T, s *survivors) {
	for _, command := range []string{"kill", "start"} {
		if err := s.cluster.Do(t.Context(), "etcd", command); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "kube-apiserver accepts writes", func() error {
		_, err := s.In(suite.ConfigMaps).Create(t.Context(), suite.NewObject(suite.ConfigMaps, "again", "", "1"), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // it did before, and could not say so
		}
		return err
	})
	s.survived(t)
}

// testDown reads from a facade whose upstream is down.
func testDown(t *testing.T, s *survivors) {
	last := s.writes[len(s.writes)-1]
	_, opened, listed := s.client.look()
	cached := []string{
		"?resourceVersion=0", fmt.Sprintf("?resourceVersion=%d", last), "?resourceVersion=0&labelSelector=t%3Da", "/o1?resourceVersion=0",
	}
	for _, query := range cached {
		s.ask(t, query) // while reviews fail, only cached decisions allow a request
	}
	s.do(t, "kill")
	restart := true
	defer func() {
		if restart {
			s.do(t, "start")
		}
	}()
	for _, query := range cached {
		if code, body := s.ask(t, query); code != http.StatusOK || !strings.Contains(body, `"name":"o1"`) {
			t.Errorf("%s: %d %s", query, code, body)
		}
	}
	for query, want := range map[string]metav1.StatusReason{
		"": metav1.StatusReasonServiceUnavailable, "?limit=2": metav1.StatusReasonServiceUnavailable,
		"/o1": metav1.StatusReasonServiceUnavailable, "?watch=1": metav1.StatusReasonTooManyRequests,
		"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan": metav1.StatusReasonTooManyRequests,
	} {
		code, body := s.ask(t, query)
		var status metav1.Status
		if err := json.Unmarshal([]byte(body), &status); err != nil || int(status.Code) != code || status.Kind != "Status" ||
			status.Reason != want || !strings.Contains(status.Message, "cannot be reached") {
			t.Errorf("most recent, %q: %d %s", query, code, body)
		}
	}
	watch := s.oracle.Facade.MustRecord(t, testkit.Question{
		Path: fmt.Sprintf("%s?watch=1&resourceVersion=%d", suite.Collection(suite.ConfigMaps, s.Namespace), s.writes[0]),
	})
	watch.Until(t, "the events that the cache has", func(r *testkit.Recording) bool { return r.Reached() >= last })
	if _, o, l := s.client.look(); o != opened || l != listed {
		t.Errorf("the client's watch did not stay open: %d watches and %d lists before, %d and %d after", opened, listed, o, l)
	}
	restart = false
	s.do(t, "start")
	s.survived(t)
}

// testStale reads from a facade whose upstream is down for longer than the allowed staleness.
func testStale(t *testing.T, s *survivors) {
	strict := newSurvivors(t, s.cluster, func(c *facade.Config) { c.MaxStaleness = time.Second })
	s.do(t, "kill")
	testkit.Eventually(t, "the facade refuses reads from the stale cache", func() error {
		code, body := strict.ask(t, "?resourceVersion=0")
		if code != http.StatusServiceUnavailable {
			return fmt.Errorf("%d %s", code, body)
		}
		return nil
	})
	testkit.Eventually(t, "a facade with a larger limit sends a staleness warning", func() error {
		answer, err := s.oracle.Facade.Ask(t.Context(), testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace) + "?resourceVersion=0"})
		if err != nil || answer.Code != http.StatusOK {
			t.Fatalf("%v, %v", answer, err)
		}
		if !strings.Contains(answer.Header.Get("Warning"), "has received nothing from") {
			return fmt.Errorf("Warning: %q", answer.Header.Get("Warning"))
		}
		return nil
	})
	s.do(t, "start")
	testkit.Eventually(t, "the facade serves from the cache again", func() error {
		code, body := strict.ask(t, "?resourceVersion=0")
		if code != http.StatusOK {
			return fmt.Errorf("%d %s", code, body)
		}
		return nil
	})
	strict.survived(t)
}

// ask sends a question for the fixture's config maps to the facade.
func (s *survivors) ask(t *testing.T, query string) (code int, body string) {
	t.Helper()
	answer, err := s.oracle.Facade.Ask(t.Context(), testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace) + query})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, string(answer.Body)
}
