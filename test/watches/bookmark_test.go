package watches

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// watchable lists all resources of the upstream with the verb watch.
func watchable(t *testing.T, s *suite.Fixture) []schema.GroupVersionResource {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var all []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "watch") {
				all = append(all, gv.WithResource(r.Name))
			}
		}
	}
	return all
}

// TestBookmarkShapes opens a streaming list that selects nothing for every kind. It receives only the bookmark.
func TestBookmarkShapes(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	var group errgroup.Group
	group.SetLimit(4)
	for i, gvr := range watchable(t, s) {
		for j, representation := range slices.Sorted(maps.Keys(watchForms)) {
			if testing.Short() && (i+j)%3 > 0 {
				continue // each kind is asked in a third of the forms then
			}
			as := watchForms[representation]
			q := testkit.Question{
				Path: suite.Collection(gvr, "") + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true" +
					"&labelSelector=no.such%3Dlabel" + as.query,
				Header: suite.Accepting(as.accept),
			}
			group.Go(func() error {
				if diff := firstFrame(t, o, q); diff != "" {
					return fmt.Errorf("%s (%s): %s\n%s", gvr.GroupResource(), representation, q, diff)
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// firstFrame compares the first frames of both servers, which must be bookmarks.
func firstFrame(t *testing.T, o *testkit.Oracle, q testkit.Question) string {
	t.Helper()
	var first [2]*testkit.Recording
	for i, asker := range []*testkit.Asker{o.Upstream, o.Facade} {

		recorder, err := asker.Record(t.Context(), q)
		if err != nil {
			return err.Error()
		}
		first[i] = recorder.AwaitFrames(1)
		recorder.Close()
		events, err := first[i].Events()
		if err != nil || len(events) == 0 || !events[0].InitialEnd {
			return fmt.Sprintf("no bookmark after initial events: %v, %d, %s", err, first[i].Code, first[i])
		}
		first[i].Frames = first[i].Frames[:1]
	}
	return testkit.DiffRecordings(first[0], first[1])
}

// Watches end at their timeout, cleanly, with a bookmark two seconds before the end if they last long enough (semantics
// 4.3, 10.3).
func TestWatchTimeouts(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	path := suite.Collection(suite.ConfigMaps, s.Namespace)
	suite.Reach(t, o, path, s.Put(t, suite.ConfigMaps, "mark", "", "1")) // the facade's window begins here
	start := s.Put(t, suite.ConfigMaps, "a", "t=a", "1")
	// This object is not selected, so only a bookmark can have its version. It is written before the first
	// bookmark.
	other := s.Put(t, suite.ConfigMaps, "b", "t=b", "1")
	suite.Reach(t, o, path, other)
	for seconds := 1; seconds <= 4; seconds++ {
		t.Run(fmt.Sprint(seconds, " s"), func(t *testing.T) {
			t.Parallel()
			question := testkit.Question{Path: fmt.Sprintf(
				"%s?watch=1&allowWatchBookmarks=true&labelSelector=t%%3Da&resourceVersion=%d&timeoutSeconds=%d", path, start, seconds)}
			want := seconds > 2
			// kube-apiserver checks every 1.25 s which watches get a bookmark, which may be too late on a
			// busy machine.
			for try := 1; ; try++ {
				opened := time.Now()
				p := suite.WatchBoth(t, o, question)
				if told := timesOut(t, p.Facade, opened, seconds).Reached() >= other; told != want {
					t.Errorf("facade: got a bookmark with the last write %t, want %t", told, want)
				}
				told := timesOut(t, p.Upstream, opened, seconds).Reached() >= other
				if told == want {
					return
				}
				if told || try == 10 {
					t.Fatalf("upstream: got a bookmark with the last write %t, want %t", told, want)
				}
			}
		})
	}
}

// timesOut returns the recording of a watch up to its timeout, and checks its duration.
func timesOut(t *testing.T, r *testkit.Recorder, opened time.Time, seconds int) *testkit.Recording {
	t.Helper()
	rec := r.Ended(t)
	if rec.Err != nil {
		t.Errorf("no clean end: %v", rec.Err)
	}
	if early := time.Duration(seconds)*time.Second - time.Since(opened); early > 50*time.Millisecond {
		t.Errorf("ended %s too early", early)
	}
	return rec
}

// --bookmark-interval sets the interval of bookmarks. A bookmark never precedes an event at or below its version.
func TestBookmarkInterval(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t), func(c *facade.Config) { c.BookmarkInterval = 100 * time.Millisecond }))
	path := suite.Collection(suite.ConfigMaps, s.Namespace)
	suite.Reach(t, o, path, s.Put(t, suite.ConfigMaps, "mark", "", "1")) // the facade's window begins here
	start := s.Put(t, suite.ConfigMaps, "a", "t=a", "1")
	suite.Reach(t, o, path, start)
	watch := o.Facade.MustRecord(t, testkit.Question{
		Path: fmt.Sprintf("%s?watch=1&allowWatchBookmarks=true&labelSelector=t%%3Da&resourceVersion=%d", path, start),
	})
	for i := range 3 {
		other := s.Put(t, suite.ConfigMaps, "b", "t=b", fmt.Sprint(i))
		watch.Until(t, "a bookmark tells of the write", func(r *testkit.Recording) bool { return r.Reached() >= other })
	}
	without := o.Facade.MustRecord(t, testkit.Question{
		Path: fmt.Sprintf("%s?watch=1&labelSelector=t%%3Da&resourceVersion=%d", path, start),
	})
	last := s.Put(t, suite.ConfigMaps, "a", "t=a", "2")
	rec := without.Until(t, "the event", func(r *testkit.Recording) bool { return r.Reached() >= last })
	if len(rec.Frames) != 1 {
		t.Errorf("got bookmarks without a request for them: %s", rec)
	}
}

// kube-apiserver has no watch cache of events, and sends at most one bookmark for them (semantics 4.1).
func TestWatchOfEvents(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t), func(c *facade.Config) { c.BookmarkInterval = 50 * time.Millisecond }))
	event := func(name string) {
		s.Create(t, suite.Events, map[string]any{
			"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": name}, "reason": "Test", "type": "Normal",
			"involvedObject": map[string]any{"kind": "ConfigMap", "name": "a", "namespace": s.Namespace},
		})
	}
	path := suite.Collection(suite.Events, s.Namespace)
	suite.Reach(t, o, path, s.Put(t, suite.ConfigMaps, "mark", "", "1")) // the facade's window begins here
	event("first")
	rv := suite.RVOf(t, s.Present(t, suite.Events, metav1.ListOptions{})[s.Namespace+"/first"])
	suite.Reach(t, o, path, rv)
	var pairs []suite.Pair
	for _, start := range []string{"", fmt.Sprintf("&resourceVersion=%d", rv)} {
		pairs = append(pairs, suite.WatchBoth(t, o, testkit.Question{Path: path + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=10" + start}))
	}
	event("second")
	s.Remove(t, suite.Events, "first")
	for _, p := range pairs {
		want, got := p.Upstream.Ended(t), p.Facade.Ended(t)
		if diff := testkit.DiffRecordings(want, got); diff != "" {
			t.Errorf("%s\n%s", want.Question, diff)
		}
	}
}

// A watch of a quiet resource from the most recent version receives no bookmark below that version, while other
// resources change.
func TestBookmarkIsNotBelowStart(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t), func(c *facade.Config) { c.BookmarkInterval = 20 * time.Millisecond }))
	path := suite.Collection(suite.Gadgets, s.Namespace)
	suite.Reach(t, o, path, s.Put(t, suite.Gadgets, "a", "", "1"))
	began := s.Put(t, suite.ConfigMaps, "a", "", "1")
	watch := o.Facade.MustRecord(t, testkit.Question{
		Path: path + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=3&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
	})
	events, err := watch.Ended(t).Events()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.RV < began {
			t.Fatalf("%s in a watch that began at %d or later", e, began)
		}
	}
}

// TestWatchErrors compares ERROR events in streams that began with 200 (semantics 4.1).
func TestWatchErrors(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	suite.Reach(t, o, suite.Collection(suite.Gadgets, s.Namespace), s.Put(t, suite.Gadgets, "a", "", "1"))
	var group errgroup.Group
	for name, query := range map[string]string{
		"too old":                "&resourceVersion=1",
		"too old, with initial":  "&resourceVersion=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
		"too large":              "&resourceVersion=999999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
		"too large, bookmarks":   "&resourceVersion=999999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
		"over before it began":   "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0&timeoutSeconds=-1",
		"no number":              "&resourceVersion=abc",
		"match without initial":  "&resourceVersion=0&resourceVersionMatch=NotOlderThan",
		"initial without match":  "&sendInitialEvents=true",
		"initial, exact":         "&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=5",
		"continue":               "&continue=xyz",
		"no selector":            "&labelSelector=a%3D%3D%3Db",
		"no selectable field":    "&fieldSelector=spec.color%3Dred",
		"timeout that is no one": "&timeoutSeconds=abc",
	} {
		for representation, as := range watchForms {
			q := testkit.Question{
				Path: suite.Collection(suite.Gadgets, s.Namespace) + "?watch=1" + query + as.query, Header: suite.Accepting(as.accept),
			}
			group.Go(func() error { // most wait for three seconds
				if diff := refused(t, o, q, strings.HasPrefix(name, "too")); diff != "" {
					return fmt.Errorf("%s, %s: %s\n%s", name, representation, q, diff)
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// refused compares two watches that end by themselves. An error in the stream must be its only frame.
func refused(t *testing.T, o *testkit.Oracle, q testkit.Question, inStream bool) string {
	t.Helper()
	var ends [2]*testkit.Recording
	var both errgroup.Group
	for i, asker := range []*testkit.Asker{o.Upstream, o.Facade} {
		both.Go(func() error {
			recorder, err := asker.Record(t.Context(), q)
			if err != nil {
				return err
			}
			<-recorder.Done()
			ends[i] = recorder.Close()
			return nil
		})
	}
	if err := both.Wait(); err != nil {
		return err.Error()
	}
	if inStream && (len(ends[0].Frames) != 1 || ends[0].Code != http.StatusOK) {
		return fmt.Sprintf("the upstream does not refuse: %d, %s", ends[0].Code, ends[0])
	}
	return testkit.DiffRecordings(ends[0], ends[1])
}

// listRV returns a list's version, which is the version of the cache that answers.
var listRV = regexp.MustCompile(`"metadata":\{"resourceVersion":"\d+"\}`)

// Additions of kube-apiserver's conversion are in complete objects, but not in metadata-only representations.
func TestMetadataOfConvertedKinds(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	container := map[string]any{"containers": []any{map[string]any{"name": "c", "image": "registry.example/c:1"}}}
	labels := map[string]any{"app": "d"}
	s.Create(t, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}, map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": map[string]any{"name": "d"}, "spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
				"containers": container["containers"], "nodeSelector": map[string]any{"no": "node"},
			}},
		},
	})
	s.Create(t, schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}, map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "h"}, "spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}, "maxReplicas": int64(2),
			"metrics": []any{map[string]any{"type": "Resource", "resource": map[string]any{
				"name": "memory", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(50)},
			}}},
		},
	})
	for _, path := range []string{"/apis/apps/v1/%s/daemonsets", "/apis/autoscaling/v1/%s/horizontalpodautoscalers", "/apis/autoscaling/v2/%s/horizontalpodautoscalers"} {
		path = fmt.Sprintf(path, "namespaces/"+s.Namespace)
		for representation, as := range watchForms {
			accept := strings.Replace(as.accept, "as=PartialObjectMetadata;", "as=PartialObjectMetadataList;", 1)
			testkit.Eventually(t, representation+" of "+path, func() error { // controllers may write between the two answers
				q := testkit.Question{Path: path + "?" + as.query, Header: suite.Accepting(accept)}
				want, err := o.Upstream.Ask(t.Context(), q)
				if err != nil {
					return err
				}
				got, err := o.Facade.Ask(t.Context(), q)
				if err != nil {
					return err
				}
				if w, g := listRV.ReplaceAllString(string(want.Body), ""), listRV.ReplaceAllString(string(got.Body), ""); w != g {
					return fmt.Errorf("%s\nupstream %s\nfacade   %s", q, w, g)
				}
				return nil
			})
		}
	}
}
