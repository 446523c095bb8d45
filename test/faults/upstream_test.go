package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// TestFaults does to an upstream of its own what happens to upstreams.
func TestFaults(t *testing.T) {
	// Without the flag a kube-apiserver that is told to stop leaves its watches open for a minute.
	own, err := testkit.StartCluster(t.Context(), "--components=none", "--apiserver-arg=--shutdown-watch-termination-grace-period=1s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	suite.NewFixture(t, own).DefineGadgets(t)
	for name, test := range map[string]func(*testing.T, *theatre){
		"killed and restarted":  testKilled,
		"stopped and restarted": testStopped,
		"paused":                testPaused,
		"compacted":             testCompacted,
		"store killed":          testStoreKilled,
		"down":                  testDown,
		"stale":                 testStale,
		"pages, compacted":      testPagesCompacted,
		"pages, restarted":      testPagesRestarted,
		"paused, read":          testPausedReads,
		"facade restarted":      testFacadeRestarted,
	} {
		t.Run(name, func(t *testing.T) { test(t, newTheatre(t, own)) })
	}
}

// theatre is a stage, a facade in front of the cluster, and two clients of it that must survive what comes.
type theatre struct {
	*suite.Fixture
	cluster  *testkit.Cluster
	run      *suite.Facade
	oracle   *testkit.Oracle
	client   *resuming
	informer toolscache.SharedIndexInformer
	writes   []uint64
}

func newTheatre(t *testing.T, own *testkit.Cluster, settings ...func(*facade.Config)) *theatre {
	t.Helper()
	settings = append([]func(*facade.Config){func(c *facade.Config) { c.BookmarkInterval = 100 * time.Millisecond }}, settings...)
	return theatreOf(t, own, suite.StartFacade(t, own, settings...))
}

// theatreOf is a theatre with a facade that reads the cluster in some way.
func theatreOf(t *testing.T, own *testkit.Cluster, run *suite.Facade) *theatre {
	t.Helper()
	th := &theatre{Fixture: suite.NewFixture(t, own), cluster: own, run: run}
	th.oracle = th.Fixture.Oracle(t, th.run)
	th.client = newResuming(t, th.oracle.Facade, suite.Collection(suite.ConfigMaps, th.Namespace))
	th.informer = dynamicinformer.NewFilteredDynamicSharedInformerFactory(suite.NewClients(t, th.run.Config).Dynamic, 0, th.Namespace, nil).
		ForResource(suite.ConfigMaps).Informer()
	suite.StartInformer(t, th.informer)
	th.change(t)
	return th
}

// change writes some objects, and waits until the client knows.
func (th *theatre) change(t *testing.T) {
	t.Helper()
	th.write(t)
	th.client.reaches(t, th.writes[len(th.writes)-1])
}

func (th *theatre) write(t *testing.T) {
	t.Helper()
	for i := range 10 {
		th.writes = append(th.writes, th.Put(t, suite.ConfigMaps, fmt.Sprintf("o%d", i%4), "t=a", fmt.Sprint(len(th.writes))))
	}
	th.Remove(t, suite.ConfigMaps, "o3")
	th.writes = append(th.writes, th.Put(t, suite.ConfigMaps, "mark", "", fmt.Sprint(len(th.writes))))
}

// do sends a command to kube-apiserver.
func (th *theatre) do(t *testing.T, command string) {
	t.Helper()
	th.doTo(t, "kube-apiserver", command)
}

// doTo sends a command to one of several kube-apiservers.
func (th *theatre) doTo(t *testing.T, server, command string) {
	t.Helper()
	if err := th.cluster.Do(t.Context(), server, command); err != nil {
		t.Fatal(err)
	}
}

// survived holds that both clients know everything and were told nothing twice.
func (th *theatre) survived(t *testing.T) {
	t.Helper()
	th.change(t)
	th.Converges(t, suite.ConfigMaps, th.informer)
	th.client.lostNothing(t, th.writes, th.Present(t, suite.ConfigMaps, metav1.ListOptions{}))
	_, opened, listed := th.client.look()
	t.Logf("the client opened %d watches and listed %d times", opened, listed)
}

func testKilled(t *testing.T, th *theatre) {
	for range 2 {
		th.do(t, "kill")
		th.do(t, "start")
		th.write(t)
	}
	th.survived(t)
}

func testStopped(t *testing.T, th *theatre) {
	th.do(t, "restart")
	th.write(t)
	th.survived(t)
}

func testPaused(t *testing.T, th *theatre) {
	_, opened, listed := th.client.look()
	th.do(t, "pause")
	for range 20 {
		if code, body := th.ask(t, "?resourceVersion=0"); code != http.StatusOK || !strings.Contains(body, `"name":"mark"`) {
			t.Errorf("at version 0: %d %s", code, body)
		}
	}
	if code, body := th.ask(t, "?timeout=1s"); code == http.StatusOK {
		t.Errorf("most recent, without asking anybody: %s", body)
	}
	th.do(t, "continue")
	th.survived(t)
	if _, o, l := th.client.look(); o != opened || l != listed {
		t.Errorf("the client's watch did not stay open: %d watches and %d lists before, %d and %d after", opened, listed, o, l)
	}
}

// testCompacted takes the upstream's window away from under the facade: what comes after must be listed again, by the facade and
// then by its clients, who are told so (I11).
func testCompacted(t *testing.T, th *theatre) {
	_, _, listed := th.client.look()
	for i := range 3 { // other resources move on, so that the restarted server's window begins above the facade's version
		th.Put(t, suite.Gadgets, "g", "", fmt.Sprint(i))
	}
	th.do(t, "kill")
	if err := th.cluster.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	th.do(t, "start")
	th.write(t)
	th.survived(t)
	if _, _, now := th.client.look(); now == listed {
		t.Error("the client was not told that the window is lost")
	}
}

// testStoreKilled restarts etcd: kube-apiserver loses all its watches and ends those of others.
func testStoreKilled(t *testing.T, th *theatre) {
	for _, command := range []string{"kill", "start"} {
		if err := th.cluster.Do(t.Context(), "etcd", command); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, suite.Within, "kube-apiserver writes again", func() error {
		_, err := th.In(suite.ConfigMaps).Create(t.Context(), suite.NewObject(suite.ConfigMaps, "again", "", "1"), metav1.CreateOptions{})
		return err
	})
	th.survived(t)
}

// testDown reads from a facade whose upstream is away.
func testDown(t *testing.T, th *theatre) {
	last := th.writes[len(th.writes)-1]
	_, opened, listed := th.client.look()
	cached := []string{
		"?resourceVersion=0", fmt.Sprintf("?resourceVersion=%d", last), "?resourceVersion=0&labelSelector=t%3Da", "/o1?resourceVersion=0",
	}
	for _, query := range cached {
		th.ask(t, query) // only what was allowed before is shown while nobody can be asked whether it is
	}
	th.do(t, "kill")
	restart := true
	defer func() {
		if restart {
			th.do(t, "start")
		}
	}()
	for _, query := range cached {
		if code, body := th.ask(t, query); code != http.StatusOK || !strings.Contains(body, `"name":"o1"`) {
			t.Errorf("%s: %d %s", query, code, body)
		}
	}
	for _, query := range []string{"", "?limit=2", "/o1", "?watch=1", "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"} {
		code, body := th.ask(t, query)
		var status struct {
			Kind, Reason string
			Code         int
		}
		if err := json.Unmarshal([]byte(body), &status); err != nil || code != http.StatusServiceUnavailable || status.Code != code ||
			status.Kind != "Status" || status.Reason != "ServiceUnavailable" {
			t.Errorf("most recent, %q: %d %s", query, code, body)
		}
	}
	watch := th.oracle.Facade.MustRecord(t, testkit.Question{
		Path: fmt.Sprintf("%s?watch=1&resourceVersion=%d", suite.Collection(suite.ConfigMaps, th.Namespace), th.writes[0]),
	})
	watch.Until(t, suite.Within, "the events that the cache has", func(r *testkit.Recording) bool { return r.Reached() >= last })
	if _, o, l := th.client.look(); o != opened || l != listed {
		t.Errorf("the client's watch did not stay open: %d watches and %d lists before, %d and %d after", opened, listed, o, l)
	}
	restart = false
	th.do(t, "start")
	th.survived(t)
}

// testStale reads from a facade whose upstream is away for longer than is allowed.
func testStale(t *testing.T, th *theatre) {
	strict := newTheatre(t, th.cluster, func(c *facade.Config) { c.MaxStaleness = time.Second })
	th.do(t, "kill")
	testkit.Eventually(t, suite.Within, "the cache is not shown any more", func() error {
		code, body := strict.ask(t, "?resourceVersion=0")
		if code != http.StatusServiceUnavailable {
			return fmt.Errorf("%d %s", code, body)
		}
		return nil
	})
	testkit.Eventually(t, suite.Within, "a facade that may be stale for longer says that it is", func() error {
		answer, err := th.oracle.Facade.Ask(t.Context(), testkit.Question{Path: suite.Collection(suite.ConfigMaps, th.Namespace) + "?resourceVersion=0"})
		if err != nil || answer.Code != http.StatusOK {
			t.Fatalf("%v, %v", answer, err)
		}
		if !strings.Contains(answer.Header.Get("Warning"), "has not been heard") {
			return fmt.Errorf("Warning: %q", answer.Header.Get("Warning"))
		}
		return nil
	})
	th.do(t, "start")
	testkit.Eventually(t, suite.Within, "the cache is shown again", func() error {
		code, body := strict.ask(t, "?resourceVersion=0")
		if code != http.StatusOK {
			return fmt.Errorf("%d %s", code, body)
		}
		return nil
	})
	strict.survived(t)
}

// ask asks the facade about the stage's config maps.
func (th *theatre) ask(t *testing.T, query string) (code int, body string) {
	t.Helper()
	answer, err := th.oracle.Facade.Ask(t.Context(), testkit.Question{Path: suite.Collection(suite.ConfigMaps, th.Namespace) + query})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, string(answer.Body)
}
