package faults

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// kube-apiserver stores events and leases in a separate etcd, whose revisions are independent of the other etcd's. They
// are lower at first, then equal for a moment, then higher.
func TestSeparateEtcd(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	own, err := testkit.StartCluster(t.Context(), "--components=none", "--events-etcd", "--separate-etcd=coordination.k8s.io/leases")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	a := newSeparateEtcds(t, own)
	truth := a.oracle.Upstream.MustRecordWhole(t, testkit.Question{Path: suite.Collection(leases, "") + "?watch=1&allowWatchBookmarks=true"})
	truth.Until(t, "the model has begun", suite.Begun)
	begins := truth.SoFar().Reached()
	watches := a.watches(t, begins)
	crossing := a.crossing(t)
	for _, phase := range []struct {
		name string
		move func(*testing.T)
	}{
		{"behind", func(t *testing.T) { a.isBehind(t) }},
		{"level", func(t *testing.T) { a.catchUp(t, 0) }},
		{"ahead", func(t *testing.T) { a.catchUp(t, 500) }},
	} {
		phase.move(t)
		t.Run(phase.name, func(t *testing.T) {
			t.Run("own writes", func(t *testing.T) { a.readsWrites(t, 20) })
			t.Run("own writes, unheard", func(t *testing.T) { a.keepReading(t); a.readsUnheard(t, phase.move) })
			t.Run("answers", func(t *testing.T) { a.answers(t) })
			t.Run("from the cache", func(t *testing.T) { a.cacheAnswers(t) })
			if phase.name == "level" {
				t.Run("own writes, unheard from the start", func(t *testing.T) { newSeparateEtcds(t, own).readsUnheard(t, phase.move) })
			}
		})
	}
	last := a.write(t, leases, "mark", "last")
	crossing.Same(t, last)
	a.check(t, truth, watches, last)
	if relists := a.relists(t); relists != "" {
		t.Errorf("lanes were listed again:\n%s", relists)
	}
}

// separateEtcds is a fixture whose facade reads from two etcds, through a balancer of one server.
type separateEtcds struct {
	*suite.Fixture
	run      *suite.Facade
	balancer *serverBalancer
	oracle   *testkit.Oracle
	writes   int
}

func newSeparateEtcds(t *testing.T, own *testkit.Cluster) *separateEtcds {
	t.Helper()
	a := &separateEtcds{Fixture: suite.NewFixture(t, own), balancer: newBalancer(t, own)}
	a.run = suite.LaunchFacade(t, a.balancer.kubeconfig, func(c *facade.Config) { c.BookmarkInterval = 100 * time.Millisecond })
	a.run.AwaitReady(t)
	a.oracle = a.Oracle(t, a.run)
	a.fillUp(t)
	for _, gvr := range a.resources() { // all lanes run, and hold every version from here on
		suite.Reach(t, a.oracle, suite.Collection(gvr, a.Namespace), a.write(t, gvr, "mark", "first"))
	}
	return a
}

// fillUp creates so many objects of two resources that no roll call is used, so that only versions confirm freshness.
func (a *separateEtcds) fillUp(t *testing.T) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for _, gvr := range []schema.GroupVersionResource{leases, suite.ConfigMaps} {
		for i := range 220 {
			group.Go(func() error {
				_, err := a.tryWrite(t, gvr, fmt.Sprintf("filler%d", i), "0")
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// keepReading reads every resource continuously until the test ends, so that reads share freshness checks.
func (a *separateEtcds) keepReading(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var readers sync.WaitGroup
	for _, gvr := range a.resources() {
		q := testkit.Question{Path: suite.Collection(gvr, a.Namespace) + "?limit=1"}
		readers.Go(func() {
			for ctx.Err() == nil {
				if answer, err := a.oracle.Facade.Ask(ctx, q); ctx.Err() == nil && (err != nil || answer.Code != http.StatusOK) {
					t.Errorf("%s: %v %v", q, answer, err)
					return
				}
			}
		})
	}
	t.Cleanup(func() { stop(); readers.Wait() })
}

// resources are two in the separate etcd and two in the other.
func (a *separateEtcds) resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{leases, suite.ConfigMaps, suite.Events, suite.Accounts}
}

// write creates an object, or changes it, and returns its resourceVersion.
func (a *separateEtcds) write(t *testing.T, gvr schema.GroupVersionResource, name, value string) uint64 {
	t.Helper()
	rv, err := a.tryWrite(t, gvr, name, value)
	if err != nil {
		t.Fatalf("write %s %s: %v", gvr.Resource, name, err)
	}
	return rv
}

func (a *separateEtcds) tryWrite(t *testing.T, gvr schema.GroupVersionResource, name, value string) (uint64, error) {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"value":%q}}}`, value)
	stored, err := a.In(gvr).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		stored, err = a.In(gvr).Create(t.Context(), a.newMember(gvr, name, value), metav1.CreateOptions{})
	}
	if err != nil {
		return 0, err
	}
	return suite.RVOf(t, stored.GetResourceVersion()), nil
}

// newMember returns an object of one of the resources.
func (a *separateEtcds) newMember(gvr schema.GroupVersionResource, name, value string) *unstructured.Unstructured {
	kind := map[schema.GroupVersionResource]string{leases: "Lease", suite.ConfigMaps: "ConfigMap", suite.Events: "Event", suite.Accounts: "ServiceAccount"}[gvr]
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gvr.GroupVersion().String(), "kind": kind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"value": value, name: ""}},
	}}
	if gvr == suite.Events {
		o.Object["involvedObject"] = map[string]any{"kind": "ConfigMap", "name": "mark", "namespace": a.Namespace}
	}
	return o
}

// revisions returns the revisions of the separate etcd and of the other.
func (a *separateEtcds) revisions(t *testing.T) (separate, other uint64) {
	t.Helper()
	return a.revision(t, leases), a.revision(t, suite.ConfigMaps)
}

func (a *separateEtcds) revision(t *testing.T, gvr schema.GroupVersionResource) uint64 {
	t.Helper()
	list, err := a.In(gvr).List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return suite.RVOf(t, list.GetResourceVersion())
}

// isBehind checks that the separate etcd has a lower revision. The start of a cluster writes a few hundred objects into
// the other one.
func (a *separateEtcds) isBehind(t *testing.T) {
	t.Helper()
	if separate, other := a.revisions(t); separate+100 > other {
		t.Fatalf("the separate etcd is at %d, the other at %d", separate, other)
	}
}

// catchUp writes into the separate etcd until its revision exceeds the other's by a number.
func (a *separateEtcds) catchUp(t *testing.T, further uint64) {
	t.Helper()
	const writers = 8
	for i := range writers {
		a.write(t, leases, fmt.Sprintf("pace%d", i), "0")
	}
	for {
		separate, other := a.revisions(t)
		if separate >= other+further {
			break
		}
		var group errgroup.Group
		group.SetLimit(writers)
		for i := range other + further - separate {
			group.Go(func() error {
				_, err := a.tryWrite(t, leases, fmt.Sprintf("pace%d", i%writers), fmt.Sprintf("%d-%d", separate, i))
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if further == 0 {
		a.level(t) // a lease was renewed meanwhile
	}
}

// level writes into the other etcd until both have the same revision.
func (a *separateEtcds) level(t *testing.T) {
	t.Helper()
	for separate, other := a.revisions(t); separate > other; other++ {
		a.write(t, suite.ConfigMaps, "pace", fmt.Sprint(other))
	}
}

// next writes a new value.
func (a *separateEtcds) next(t *testing.T, gvr schema.GroupVersionResource) uint64 {
	t.Helper()
	a.writes++
	return a.write(t, gvr, "mine", fmt.Sprint("v", a.writes))
}

// readsWrites writes to each resource in turn, and sends every kind of consistent read. The separate etcd receives more
// writes, so the two revisions are rarely equal.
func (a *separateEtcds) readsWrites(t *testing.T, times int) {
	for range times {
		for _, gvr := range a.resources() {
			rv := a.next(t, gvr)
			for _, query := range []string{"?labelSelector=mine", "?limit=300", "/mine"} {
				a.shows(t, suite.Collection(gvr, a.Namespace)+query, rv)
			}
		}
		for range 2 {
			a.next(t, leases)
		}
	}
}

// shows checks that an answer of the facade contains an object at a version.
func (a *separateEtcds) shows(t *testing.T, path string, rv uint64) {
	t.Helper()
	answer, err := a.oracle.Facade.Ask(t.Context(), testkit.Question{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Code != http.StatusOK || !bytes.Contains(answer.Body, inObject(rv)) {
		t.Errorf("%s: got %d without the earlier write at %d: %s", path, answer.Code, rv, answer.Body)
	}
}

// inObject returns the text of a version in an object.
func inObject(rv uint64) []byte { return fmt.Appendf(nil, `"resourceVersion":"%d"`, rv) }

// readsUnheard does the same while the lanes' watches receive nothing. A check against the wrong etcd would confirm the
// stale lanes as fresh. move sets the revisions of the two etcds before the reads.
func (a *separateEtcds) readsUnheard(t *testing.T, move func(*testing.T)) {
	a.readsWrites(t, 2) // the facade finds out which resources share an etcd
	move(t)
	separate, other := a.revisions(t)
	t.Logf("the separate etcd is at %d, the other at %d", separate, other)
	a.balancer.holdBack(isLanes)
	defer a.balancer.holdBack(func(*http.Request) bool { return false })
	var group errgroup.Group
	for _, gvr := range a.resources() {
		rv := a.next(t, gvr)
		a.shows(t, suite.Collection(gvr, a.Namespace)+"?labelSelector=mine", rv)
		group.Go(func() error { return a.begins(t, gvr, rv) })
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// begins checks that the initial events of a streaming list contain an object at a version. The answer is large, so the
// facade uses a progress watch for it.
func (a *separateEtcds) begins(t *testing.T, gvr schema.GroupVersionResource, rv uint64) error {
	t.Helper()
	watch, err := a.oracle.Facade.Record(t.Context(), testkit.Question{
		Path: suite.Collection(gvr, a.Namespace) + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
	})
	if err != nil {
		return err
	}
	told := watch.Await(suite.Begun)
	watch.Close()
	shown := func(frame testkit.Frame) bool { return bytes.Contains(frame.Line, inObject(rv)) }
	if told.Code != http.StatusOK || !suite.Begun(told) || !slices.ContainsFunc(told.Frames, shown) {
		return fmt.Errorf("initial events of %s: %d, without the write at %d before them: %s", gvr.Resource, told.Code, rv, told)
	}
	return nil
}

// crossing returns watches of leases from the other etcd's version, on both servers. They send no event up to that
// version, then all events.
func (a *separateEtcds) crossing(t *testing.T) suite.Pair {
	t.Helper()
	return suite.WatchBoth(t, a.oracle, testkit.Question{
		Path: fmt.Sprintf("%s?watch=1&allowWatchBookmarks=true&resourceVersion=%d", suite.Collection(leases, a.Namespace), a.revision(t, suite.ConfigMaps)),
	})
}

// Watches of leases through the facade that receive all events after a version.
func (a *separateEtcds) watches(t *testing.T, from uint64) (open []*testkit.Recorder) {
	t.Helper()
	for _, query := range []string{
		fmt.Sprintf("&resourceVersion=%d", from),
		fmt.Sprintf("&resourceVersion=%d&labelSelector=value=v3", from),
		"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
	} {
		open = append(open, a.oracle.Facade.MustRecord(t, testkit.Question{Path: suite.Collection(leases, "") + "?watch=1&allowWatchBookmarks=true" + query}))
	}
	return open
}

// check compares watches with kube-apiserver's own watch.
func (a *separateEtcds) check(t *testing.T, truth *testkit.Recorder, watches []*testkit.Recorder, last uint64) {
	t.Helper()
	reached := func(r *testkit.Recording) bool { return r.Reached() >= last }
	var recordings []*testkit.Recording
	for _, watch := range watches {
		watch.Until(t, "an event or a bookmark tells of the last write", reached)
		recordings = append(recordings, watch.Close())
	}
	after := a.write(t, leases, "mark", "after")
	final := truth.Until(t, "the model is complete", func(r *testkit.Recording) bool { return r.Reached() >= after })
	model, err := testkit.NewModel(final)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recordings {
		if err := testkit.CheckWatch(r, model); err != nil {
			t.Error(err)
		}
	}
}

// relists returns the metrics of lanes that were listed again after their first list.
func (a *separateEtcds) relists(t *testing.T) string { return relistsOf(t, a.oracle) }

func relistsOf(t *testing.T, o *testkit.Oracle) string {
	t.Helper()
	answer, err := o.Facade.Ask(t.Context(), testkit.Question{Path: "/metrics"})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(answer.Body)) {
		if strings.HasPrefix(line, "listfacade_upstream_relists_total{") && !strings.HasSuffix(line, " 0\n") {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}
