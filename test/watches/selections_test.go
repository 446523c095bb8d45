package watches

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// watchForms are the representations of watches that the cache serves.
var watchForms = map[string]struct{ accept, query string }{
	"plain":          {accept: suite.AcceptJSON},
	"metadata":       {accept: suite.AcceptPartial},
	"table":          {accept: suite.AcceptTable},
	"table, objects": {accept: suite.AcceptTable, query: "&includeObject=Object"},
	"table, cells":   {accept: suite.AcceptTable, query: "&includeObject=None"},
}

// transitions moves an object x into and out of a label selection in every way (example in semantics 4.4), and writes
// an object y without labels. It returns the versions of the last writes of x and y.
func transitions(t *testing.T, s *suite.Fixture, gvr schema.GroupVersionResource) (x, y uint64) {
	t.Helper()
	s.Put(t, gvr, "x", "t=b", "1")
	s.Put(t, gvr, "x", "t=a", "2")
	s.Put(t, gvr, "y", "", "1")
	s.Put(t, gvr, "x", "t=a", "3")
	s.Put(t, gvr, "x", "t=c", "4")
	s.Put(t, gvr, "x", "t=a", "5")
	s.Remove(t, gvr, "x")
	return s.Put(t, gvr, "x", "t=a", "6"), s.Put(t, gvr, "y", "", "2")
}

func TestWatchStarts(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
		t.Run(gvr.Resource, func(t *testing.T) { testWatchStarts(t, s, o, gvr) })
	}
}

// testWatchStarts opens a watch for each line of the table in semantics 4.1, with and without bookmarks.
func testWatchStarts(t *testing.T, s *suite.Fixture, o *testkit.Oracle, gvr schema.GroupVersionResource) {
	path := suite.Collection(gvr, s.Namespace)
	suite.Reach(t, o, path, s.Put(t, gvr, "first", "t=a", "1")) // from here on both caches hold every version
	past := s.Put(t, gvr, "old", "t=a", "1")
	s.Put(t, gvr, "old", "t=b", "2")
	now := s.Put(t, gvr, "keep", "t=a", "1")
	suite.Reach(t, o, path, now)
	pairs := map[string]suite.Pair{}
	for name, query := range map[string]string{
		"unset":                    "",
		"empty":                    "&resourceVersion=",
		"zero":                     "&resourceVersion=0",
		"past":                     fmt.Sprintf("&resourceVersion=%d", past),
		"present":                  fmt.Sprintf("&resourceVersion=%d", now),
		"future":                   fmt.Sprintf("&resourceVersion=%d", now+4),
		"far future":               "&resourceVersion=999999999",
		"initial events, unset":    "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
		"initial events, zero":     "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0",
		"initial events, past":     fmt.Sprintf("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=%d", past),
		"initial events, present":  fmt.Sprintf("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=%d", now),
		"no initial events, unset": "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
		"no initial events, zero":  "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0",
		"no initial events, past":  fmt.Sprintf("&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=%d", past),
		"limit means nothing":      "&limit=1",
	} {
		q := testkit.Question{Path: path + "?watch=true" + query, Header: suite.Accepting(suite.AcceptJSON)}
		pairs[name] = suite.WatchBoth(t, o, q)
		q.Path += "&allowWatchBookmarks=true"
		pairs[name+", with bookmarks"] = suite.WatchBoth(t, o, q)
	}
	_, last := transitions(t, s, gvr)
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "far future") {
				quiet(t, p)
			} else {
				p.Same(t, last)
			}
		})
	}
}

// quiet checks that neither watch of a pair has sent an event or ended.
func quiet(t *testing.T, p suite.Pair) {
	t.Helper()
	for name, r := range map[string]*testkit.Recorder{"upstream": p.Upstream, "facade": p.Facade} {
		select {
		case <-r.Done():
			t.Errorf("%s: the watch ended", name)
		default:
		}
		if frames := r.SoFar(); len(frames.Frames) > 0 || frames.Code != http.StatusOK {
			t.Errorf("%s: %d, %s", name, frames.Code, frames)
		}
	}
}

func TestWatchSelectors(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
		t.Run(gvr.Resource, func(t *testing.T) { testWatchSelectors(t, s, o, gvr) })
	}
}

// testWatchSelectors opens a watch for each selector and representation while objects enter and leave the selections.
func testWatchSelectors(t *testing.T, s *suite.Fixture, o *testkit.Oracle, gvr schema.GroupVersionResource) {
	path := suite.Collection(gvr, s.Namespace)
	suite.Reach(t, o, path, s.Put(t, gvr, "first", "t=a", "0")) // from here on both caches hold every version
	before := s.Put(t, gvr, "there", "t=a", "0")
	suite.Reach(t, o, path, before)
	type selection struct {
		namespace, query string
		quietX           bool // the last write that it tells is y's
	}
	selections := map[string]selection{
		"all":               {namespace: s.Namespace},
		"label":             {namespace: s.Namespace, query: "&labelSelector=t%3Da"},
		"label set":         {namespace: s.Namespace, query: "&labelSelector=t+in+(a,c)"},
		"no label":          {namespace: s.Namespace, query: "&labelSelector=!t", quietX: true},
		"name":              {namespace: s.Namespace, query: "&fieldSelector=metadata.name%3Dx"},
		"not the name":      {namespace: s.Namespace, query: "&fieldSelector=metadata.name!%3Dx", quietX: true},
		"name and label":    {namespace: s.Namespace, query: "&fieldSelector=metadata.name%3Dx&labelSelector=t%3Da"},
		"another namespace": {query: "&labelSelector=t%3Da&fieldSelector=metadata.namespace%3D" + s.Namespace},
	}
	if gvr == suite.Gadgets {
		selections["selectable field"] = selection{namespace: s.Namespace, query: "&fieldSelector=spec.value%3D6"}
	}
	pairs, quietX := map[string]suite.Pair{}, map[string]bool{}
	for name, selection := range selections {
		for representation, as := range watchForms {
			for start, rv := range map[string]string{"from the start": "", "from a version": fmt.Sprintf("&resourceVersion=%d", before)} {
				id := name + ", " + representation + ", " + start
				pairs[id] = suite.WatchBoth(t, o, testkit.Question{
					Path:   suite.Collection(gvr, selection.namespace) + "?watch=1&allowWatchBookmarks=true" + selection.query + as.query + rv,
					Header: suite.Accepting(as.accept),
				})
				quietX[id] = selection.quietX
			}
		}
	}
	x, y := transitions(t, s, gvr)
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) {
			if quietX[name] {
				p.Same(t, y)
			} else {
				p.Same(t, x)
			}
		})
	}
}

func TestWatchPodsByNode(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	pairs := map[string]suite.Pair{}
	suite.Reach(t, o, suite.Collection(suite.Pods, ""), s.Put(t, suite.ConfigMaps, "mark", "", "1"))
	for _, selector := range []string{
		"spec.nodeName=n1", "spec.nodeName=", "spec.nodeName!=n2", "status.phase=Running", "spec.nodeName=n1,status.phase!=Running",
		"spec.schedulerName=none", "spec.restartPolicy=Always,spec.nodeName=n1",
	} {
		for representation, as := range watchForms {
			pairs[selector+", "+representation] = suite.WatchBoth(t, o, testkit.Question{
				Path:   suite.Collection(suite.Pods, s.Namespace) + "?watch=1&allowWatchBookmarks=true&fieldSelector=" + url.QueryEscape(selector) + as.query,
				Header: suite.Accepting(as.accept),
			})
		}
	}
	bound, last := pods(t, s)
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "spec.nodeName=,") {
				p.Same(t, bound)
			} else {
				p.Same(t, last)
			}
		})
	}
}

// pods creates pods, binds them to nodes, marks them as running and deletes them. It returns the version of the last
// binding, and of the last write.
func pods(t *testing.T, s *suite.Fixture) (bound, last uint64) {
	t.Helper()
	pod(t, s, "on-n2", "n2")
	pod(t, s, "goes", "n1")
	pod(t, s, "comes", "")
	bind(t, s, "comes", "n1")
	s.Patch(t, suite.Pods, "comes", `{"status":{"phase":"Running"}}`, "status")
	s.Patch(t, suite.Pods, "on-n2", `{"metadata":{"labels":{"t":"a"}}}`)
	s.Remove(t, suite.Pods, "goes")
	s.Remove(t, suite.Pods, "comes")
	pod(t, s, "stays", "")
	bound = bind(t, s, "stays", "n1")
	return bound, s.Patch(t, suite.Pods, "stays", `{"status":{"phase":"Running"}}`, "status")
}

// pod creates a pod that no scheduler assigns.
func pod(t *testing.T, s *suite.Fixture, name, node string) {
	t.Helper()
	spec := map[string]any{
		"schedulerName": "none", "nodeName": node, "automountServiceAccountToken": false,
		"containers": []any{map[string]any{"name": "c", "image": "registry.example/c:1"}},
	}
	s.Create(t, suite.Pods, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name}, "spec": spec})
}

// bind binds a pod to a node, like a scheduler.
func bind(t *testing.T, s *suite.Fixture, name, node string) uint64 {
	t.Helper()
	s.Create(t, suite.Pods, map[string]any{
		"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": name},
		"target": map[string]any{"apiVersion": "v1", "kind": "Node", "name": node},
	}, "binding")
	pod, err := s.In(suite.Pods).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return suite.RVOf(t, pod.GetResourceVersion())
}
