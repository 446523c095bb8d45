package faults

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// replicas are two facades in front of one kube-apiserver, behind a balancer.
type replicas struct {
	*suite.Fixture
	runs   [2]*suite.Facade
	front  *balancer
	client *testkit.Asker // of the balancer
	truth  *testkit.Recorder
	gvr    schema.GroupVersionResource
	begin  uint64 // from here on both facades hold every version of gvr
}

// startReplicas starts two facades of the cluster, the second through a proxy if one is given. The tests use one
// resource: config maps or gadgets.
func startReplicas(t *testing.T, gvr schema.GroupVersionResource, kubeconfigs ...string) *replicas {
	t.Helper()
	r := &replicas{Fixture: suite.NewFixture(t, suite.Cluster(t)), gvr: gvr}
	r.DefineGadgets(t)
	kubeconfigs = append([]string{suite.FacadeKubeconfig(t, suite.Cluster(t))}, kubeconfigs...)
	for i := range r.runs {
		r.runs[i] = suite.LaunchFacade(t, kubeconfigs[i%len(kubeconfigs)], marking)
	}
	for _, run := range r.runs {
		run.AwaitReady(t)
	}
	r.front = startBalancer(t, r.runs[0].URL, r.runs[1].URL)
	var err error
	if r.client, err = testkit.NewAsker(r.front.Config); err != nil {
		t.Fatal(err)
	}
	r.truth = r.Upstream.MustRecordWhole(t, testkit.Question{Path: suite.Collection(gvr, "") + "?watch=1&allowWatchBookmarks=true"})
	r.truth.Until(t, "the model has begun", suite.Begun)
	for range 2 { // the facades begin to read with the first question; what comes next they hold from its first version on
		r.begin = r.mark(t)
		for i := range r.runs {
			suite.Reach(t, r.oracle(t, i), suite.Collection(gvr, ""), r.begin)
		}
	}
	return r
}

// marking configures a facade that sends bookmarks often.
func marking(c *facade.Config) { c.BookmarkInterval = 100 * time.Millisecond }

// mark writes an object that every chain receives.
func (r *replicas) mark(t *testing.T) uint64 {
	t.Helper()
	return r.Put(t, r.gvr, "mark", "t=a", fmt.Sprint(time.Now().UnixNano()))
}

// oracle compares kube-apiserver with one of the facades.
func (r *replicas) oracle(t *testing.T, i int) *testkit.Oracle {
	t.Helper()
	return r.Oracle(t, r.runs[i])
}

// restart stops one of the facades, if it runs, and starts another instead.
func (r *replicas) restart(t *testing.T, i int) {
	t.Helper()
	r.runs[i].Close(t)
	r.front.leave(t, i)
	r.runs[i] = suite.StartFacade(t, suite.Cluster(t), marking)
	r.front.replace(t, i, r.runs[i].URL)
}

// kill ends a facade without draining it.
func (r *replicas) kill(t *testing.T, i int) {
	t.Helper()
	if err := r.runs[i].Abort(); err != nil {
		t.Fatal(err)
	}
	r.runs[i].Close(t)
	r.front.leave(t, i)
}

// happened returns a model of the resource up to now.
func (r *replicas) happened(t *testing.T) *testkit.Model {
	t.Helper()
	last := r.mark(t)
	m, err := testkit.NewModel(r.truth.Until(t, "the model is complete", func(rec *testkit.Recording) bool { return rec.Reached() >= last }))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Clients that request the version that they have seen, or the most recent state, never receive an older state. They
// can resume a watch from the version of a list. This includes a quiet resource while others change.
func TestReplicasReads(t *testing.T) {
	settings.Long(t)
	for name, gvr := range map[string]schema.GroupVersionResource{"busy": suite.ConfigMaps, "quiet": suite.Gadgets} {
		t.Run(name, func(t *testing.T) { testReplicasReads(t, startReplicas(t, gvr)) })
	}
}

func testReplicasReads(t *testing.T, r *replicas) {
	stopBusy, stopQuiet := keepWriting(t, r.Fixture, suite.ConfigMaps, 10*time.Millisecond), keepWriting(t, r.Fixture, suite.Gadgets, 100*time.Millisecond)
	var relisting chains
	var stopWatches []func()
	for _, selector := range []string{"labelSelector=", "labelSelector=t%3Da", "fieldSelector=metadata.name%3Dmark"} {
		c := &chain{asker: r.client, path: suite.Collection(r.gvr, r.Namespace) + "?" + selector, relists: true}
		relisting, stopWatches = append(relisting, c), append(stopWatches, c.start(t, r.begin))
	}
	readers := make([]*reader, 4)
	var group errgroup.Group
	for i := range readers {
		readers[i] = newReader(r, uint64(i))
		group.Go(func() error {
			for range 60 {
				if err := readers[i].read(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	relisting.reach(t, r.mark(t))
	for _, stop := range append(stopWatches, stopBusy, stopQuiet) {
		stop()
	}
	model := r.happened(t)
	relisting.lostNothing(t, model)
	for _, s := range readers {
		s.readNothingOld(t, model)
		if s.refused > 0 {
			t.Errorf("%d reads were refused although both facades are healthy", s.refused)
		}
	}
	if asked := r.front.requests(); min(asked[0], asked[1]) < 100 {
		t.Errorf("the facades got %v requests", asked)
	}
}

// Watches that time out after a second or are cut off resume at the other facade without a lost or repeated event.
func TestReplicasWatches(t *testing.T) {
	r := startReplicas(t, suite.ConfigMaps)
	all, stopAll := r.follow(t)
	stop := keepWriting(t, r.Fixture, suite.ConfigMaps, 10*time.Millisecond)
	for range 6 {
		all.reach(t, r.mark(t))
		r.front.cut()
	}
	for _, c := range all {
		testkit.Eventually(t, c.path+" has timed out twice", func() error {
			if _, timeout := c.look(); timeout < 2 {
				return fmt.Errorf("%d times", timeout)
			}
			return nil
		})
	}
	stop()
	stopAll()
	watches := all.lostNothing(t, r.happened(t))
	if asked := r.front.requests(); min(asked[0], asked[1]) < watches/4 {
		t.Errorf("the facades got %v requests for %d watches", asked, watches)
	}
}

// One facade receives changes late. Watches that resume there at a version that it has not reached wait. Reads are
// forwarded or refused, but never answered with a state that is too old.
func TestReplicasLag(t *testing.T) {
	settings.Long(t)
	for name, gvr := range map[string]schema.GroupVersionResource{"busy": suite.ConfigMaps, "quiet": suite.Gadgets} {
		t.Run(name, func(t *testing.T) { testReplicasLag(t, gvr) })
	}
}

func testReplicasLag(t *testing.T, gvr schema.GroupVersionResource) {
	proxy := newSlowProxy(t, suite.Cluster(t))
	r := startReplicas(t, gvr, proxy.kubeconfig)
	t.Cleanup(proxy.release) // before the facades are closed
	all, stopAll := r.follow(t)
	client := newReader(r, 0)
	var direct []*testkit.Recorder
	keepWriting(t, r.Fixture, suite.ConfigMaps, 20*time.Millisecond)
	for range 2 {
		all.reach(t, r.mark(t))
		proxy.shut()
		mark := r.mark(t)
		r.lags(t, mark)
		direct = append(direct, r.readSlow(t, client, mark))
		stop := keepWriting(t, r.Fixture, suite.Gadgets, 50*time.Millisecond)
		for range 30 {
			if err := client.read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r.goAhead(t, all, mark)
		stop()
		before := r.front.requests()
		r.front.cut()
		testkit.Eventually(t, "both facades receive watches", func() error {
			if asked := r.front.requests(); min(asked[0]-before[0], asked[1]-before[1]) < len(all)/2 {
				return fmt.Errorf("requests before %v, after %v", before, asked)
			}
			return nil
		})
		proxy.release()
	}
	last := r.mark(t)
	all.reach(t, last)
	for _, watch := range direct {
		watch.Until(t, "the slow facade tells what it held back", func(rec *testkit.Recording) bool { return rec.Reached() >= last })
	}
	stopAll()
	for _, watch := range direct {
		watch.Close()
	}
	model := r.happened(t)
	all.lostNothing(t, model)
	client.readNothingOld(t, model)
	for _, watch := range direct {
		if err := testkit.CheckWatch(watch.SoFar(), model); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d of 60 reads were refused", client.refused)
}

// goAhead waits until the quick facade has sent a version to every chain. It disconnects chains at the slow facade
// after increasing delays, so that chains at the quick one have time to receive it.
func (r *replicas) goAhead(t *testing.T, all chains, rv uint64) {
	t.Helper()
	patience, last := 300*time.Millisecond, time.Now()
	testkit.Eventually(t, "every watch has received the version from the quick facade", func() error {
		for _, c := range all {
			if err := c.behind(rv); err != nil {
				if time.Since(last) > patience { //pace: connections are cut again and again, after ever longer
					r.front.cut()
					patience, last = patience*5/4, time.Now()
				}
				return fmt.Errorf("%s: %w", c.path, err)
			}
		}
		return nil
	})
}

// lags checks that the second facade has not reached a version, which the test depends on.
func (r *replicas) lags(t *testing.T, rv uint64) {
	t.Helper()
	answer := r.ask(t, 1, "?resourceVersion=0")
	if at := versions(answer)[0]; answer.Code != http.StatusOK || at == 0 || at >= rv {
		t.Fatalf("the slow facade does not lag behind %d: %d, at %d", rv, answer.Code, at)
	}
}

// readSlow reads a state from the second facade that its cache has not reached, and opens a watch after that version.
func (r *replicas) readSlow(t *testing.T, client *reader, mark uint64) *testkit.Recorder {
	t.Helper()
	at := fmt.Sprintf("resourceVersion=%d", mark)
	for _, query := range []string{
		"", "?limit=500", "?" + at, "?resourceVersionMatch=NotOlderThan&" + at, "?resourceVersionMatch=Exact&" + at, "/mark", "/mark?" + at,
	} {
		answer := r.ask(t, 1, query)
		switch late := strings.Contains(query, at); {
		case answer.Code == http.StatusOK:
			client.readings = append(client.readings, reading{testkit.Question{Path: suite.Collection(r.gvr, r.Namespace) + query}, answer, mark})
		case answer.Code != http.StatusGatewayTimeout || !late:
			t.Errorf("%q after the write at %d: %d %s", query, mark, answer.Code, answer.Body)
		}
	}
	facade := r.oracle(t, 1).Facade
	path := suite.Collection(r.gvr, r.Namespace)
	return facade.MustRecord(t, testkit.Question{Path: path + "?watch=1&allowWatchBookmarks=true&" + at})
}

// ask sends a question for the resource to one of the facades.
func (r *replicas) ask(t *testing.T, i int, query string) *testkit.Answer {
	t.Helper()
	answer, err := r.oracle(t, i).Facade.Ask(t.Context(), testkit.Question{Path: suite.Collection(r.gvr, r.Namespace) + query})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// follow starts chains of watches through the balancer.
func (r *replicas) follow(t *testing.T) (all chains, stop func()) {
	t.Helper()
	all = newChains(r.client, suite.Collection(r.gvr, r.Namespace))
	stops := make([]func(), len(all))
	for i, c := range all {
		stops[i] = c.start(t, r.begin)
	}
	return all, func() {
		for _, stop := range stops {
			stop()
		}
	}
}
