package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	acceptJSON    = "application/json"
	acceptTable   = "application/json;as=Table;v=v1;g=meta.k8s.io"
	acceptPartial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
)

// watchForms are the ways to show a watch's objects that the cache answers itself.
var watchForms = map[string]struct{ accept, query string }{
	"plain":          {accept: acceptJSON},
	"metadata":       {accept: acceptPartial},
	"table":          {accept: acceptTable},
	"table, objects": {accept: acceptTable, query: "&includeObject=Object"},
	"table, cells":   {accept: acceptTable, query: "&includeObject=None"},
}

func accepting(accept string) http.Header { return http.Header{"Accept": {accept}} }

// transitions writes an object x through every way in and out of a selection by label (the example of semantics 4.4), beside
// an object y without labels. It returns the versions of the last writes of x and of y.
func (s *stage) transitions(t *testing.T, gvr schema.GroupVersionResource) (x, y uint64) {
	t.Helper()
	s.put(t, gvr, "x", "t=b", "1")
	s.put(t, gvr, "x", "t=a", "2")
	s.put(t, gvr, "y", "", "1")
	s.put(t, gvr, "x", "t=a", "3")
	s.put(t, gvr, "x", "t=c", "4")
	s.put(t, gvr, "x", "t=a", "5")
	s.remove(t, gvr, "x")
	return s.put(t, gvr, "x", "t=a", "6"), s.put(t, gvr, "y", "", "2")
}

func TestWatchStarts(t *testing.T) {
	s := newStage(t, cluster)
	s.defineGadgets(t)
	o := s.oracle(t, startFacade(t, cluster))
	for _, gvr := range []schema.GroupVersionResource{configMaps, gadgets} {
		t.Run(gvr.Resource, func(t *testing.T) { testWatchStarts(t, s, o, gvr) })
	}
}

// testWatchStarts opens a watch for each line of the table in semantics 4.1, with and without bookmarks.
func testWatchStarts(t *testing.T, s *stage, o *testkit.Oracle, gvr schema.GroupVersionResource) {
	path := collection(gvr, s.namespace)
	reach(t, o, path, s.put(t, gvr, "first", "t=a", "1")) // from here on both caches hold every version
	past := s.put(t, gvr, "old", "t=a", "1")
	s.put(t, gvr, "old", "t=b", "2")
	now := s.put(t, gvr, "keep", "t=a", "1")
	reach(t, o, path, now)
	pairs := map[string]pair{}
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
		q := testkit.Question{Path: path + "?watch=true" + query, Header: accepting(acceptJSON)}
		pairs[name] = watchBoth(t, o, q)
		q.Path += "&allowWatchBookmarks=true"
		pairs[name+", with bookmarks"] = watchBoth(t, o, q)
	}
	_, last := s.transitions(t, gvr)
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "far future") {
				quiet(t, p)
			} else {
				p.same(t, last)
			}
		})
	}
}

// quiet holds that neither of a pair has told anything or ended.
func quiet(t *testing.T, p pair) {
	t.Helper()
	for name, r := range map[string]*testkit.Recorder{"upstream": p.upstream, "facade": p.facade} {
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
	s := newStage(t, cluster)
	s.defineGadgets(t)
	o := s.oracle(t, startFacade(t, cluster))
	for _, gvr := range []schema.GroupVersionResource{configMaps, gadgets} {
		t.Run(gvr.Resource, func(t *testing.T) { testWatchSelectors(t, s, o, gvr) })
	}
}

// testWatchSelectors opens a watch for each selector in each form, while objects enter and leave the selections.
func testWatchSelectors(t *testing.T, s *stage, o *testkit.Oracle, gvr schema.GroupVersionResource) {
	path := collection(gvr, s.namespace)
	reach(t, o, path, s.put(t, gvr, "first", "t=a", "0")) // from here on both caches hold every version
	before := s.put(t, gvr, "there", "t=a", "0")
	reach(t, o, path, before)
	type selection struct {
		namespace, query string
		quietX           bool // the last write that it tells is y's
	}
	selections := map[string]selection{
		"all":               {namespace: s.namespace},
		"label":             {namespace: s.namespace, query: "&labelSelector=t%3Da"},
		"label set":         {namespace: s.namespace, query: "&labelSelector=t+in+(a,c)"},
		"no label":          {namespace: s.namespace, query: "&labelSelector=!t", quietX: true},
		"name":              {namespace: s.namespace, query: "&fieldSelector=metadata.name%3Dx"},
		"not the name":      {namespace: s.namespace, query: "&fieldSelector=metadata.name!%3Dx", quietX: true},
		"name and label":    {namespace: s.namespace, query: "&fieldSelector=metadata.name%3Dx&labelSelector=t%3Da"},
		"another namespace": {query: "&labelSelector=t%3Da&fieldSelector=metadata.namespace%3D" + s.namespace},
	}
	if gvr == gadgets {
		selections["selectable field"] = selection{namespace: s.namespace, query: "&fieldSelector=spec.value%3D6"}
	}
	pairs, quietX := map[string]pair{}, map[string]bool{}
	for name, selection := range selections {
		for form, as := range watchForms {
			for start, rv := range map[string]string{"from the start": "", "from a version": fmt.Sprintf("&resourceVersion=%d", before)} {
				id := name + ", " + form + ", " + start
				pairs[id] = watchBoth(t, o, testkit.Question{
					Path:   collection(gvr, selection.namespace) + "?watch=1&allowWatchBookmarks=true" + selection.query + as.query + rv,
					Header: accepting(as.accept),
				})
				quietX[id] = selection.quietX
			}
		}
	}
	x, y := s.transitions(t, gvr)
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) {
			if quietX[name] {
				p.same(t, y)
			} else {
				p.same(t, x)
			}
		})
	}
}

func TestWatchPodsByNode(t *testing.T) {
	s := newStage(t, cluster)
	o := s.oracle(t, startFacade(t, cluster))
	pairs := map[string]pair{}
	reach(t, o, collection(pods, ""), s.put(t, configMaps, "mark", "", "1"))
	for _, selector := range []string{
		"spec.nodeName=n1", "spec.nodeName=", "spec.nodeName!=n2", "status.phase=Running", "spec.nodeName=n1,status.phase!=Running",
		"spec.schedulerName=nobody", "spec.restartPolicy=Always,spec.nodeName=n1",
	} {
		for form, as := range watchForms {
			pairs[selector+", "+form] = watchBoth(t, o, testkit.Question{
				Path:   collection(pods, s.namespace) + "?watch=1&allowWatchBookmarks=true&fieldSelector=" + url.QueryEscape(selector) + as.query,
				Header: accepting(as.accept),
			})
		}
	}
	bound, last := s.pods(t)
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "spec.nodeName=,") {
				p.same(t, bound)
			} else {
				p.same(t, last)
			}
		})
	}
}

// pods makes pods that come to nodes, run and go. It returns the version at which the last was bound to its node, and that of
// the last write of all.
func (s *stage) pods(t *testing.T) (bound, last uint64) {
	t.Helper()
	s.pod(t, "on-n2", "n2")
	s.pod(t, "goes", "n1")
	s.pod(t, "comes", "")
	s.bind(t, "comes", "n1")
	s.patch(t, pods, "comes", `{"status":{"phase":"Running"}}`, "status")
	s.patch(t, pods, "on-n2", `{"metadata":{"labels":{"t":"a"}}}`)
	s.remove(t, pods, "goes")
	s.remove(t, pods, "comes")
	s.pod(t, "stays", "")
	bound = s.bind(t, "stays", "n1")
	return bound, s.patch(t, pods, "stays", `{"status":{"phase":"Running"}}`, "status")
}

// pod makes a pod that no scheduler takes.
func (s *stage) pod(t *testing.T, name, node string) {
	t.Helper()
	spec := map[string]any{
		"schedulerName": "nobody", "nodeName": node, "automountServiceAccountToken": false,
		"containers": []any{map[string]any{"name": "c", "image": "registry.example/c:1"}},
	}
	s.create(t, pods, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name}, "spec": spec})
}

// bind does what a scheduler does.
func (s *stage) bind(t *testing.T, name, node string) uint64 {
	t.Helper()
	s.create(t, pods, map[string]any{
		"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": name},
		"target": map[string]any{"apiVersion": "v1", "kind": "Node", "name": node},
	}, "binding")
	pod, err := s.in(pods).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return rvOf(t, pod.GetResourceVersion())
}
