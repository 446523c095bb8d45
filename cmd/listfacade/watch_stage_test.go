package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// within bounds every wait for something that takes milliseconds on an idle machine.
const within = 30 * time.Second

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	accounts   = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	gadgets    = schema.GroupVersionResource{Group: "watch.example.com", Version: "v1", Resource: "gadgets"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// stage is a namespace of its own in a cluster, and hands to change it with.
type stage struct {
	namespace string
	config    *rest.Config // of the upstream's administrator
	upstream  *testkit.Asker
	client    dynamic.Interface
}

// newStage makes a namespace and waits until the cluster's controllers have put into it what they put into every namespace,
// so that nothing but the test writes there.
func newStage(t *testing.T, c *testkit.Cluster) *stage {
	t.Helper()
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	s := &stage{namespace: "stage-" + strconv.FormatInt(time.Now().UnixNano(), 36), config: config}
	if s.upstream, err = testkit.NewAsker(config); err != nil {
		t.Fatal(err)
	}
	if s.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": s.namespace},
	}}
	if _, err := s.client.Resource(namespaces).Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.client.Resource(namespaces).Delete(context.Background(), s.namespace, metav1.DeleteOptions{}) // the cluster ends anyway
	})
	if _, controllers := c.Processes["kube-controller-manager"]; controllers {
		testkit.Eventually(t, within, "the namespace is furnished", func() error {
			if _, err := s.in(configMaps).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
				return err
			}
			_, err := s.in(accounts).Get(t.Context(), "default", metav1.GetOptions{})
			return err
		})
	}
	return s
}

func (s *stage) in(gvr schema.GroupVersionResource) dynamic.ResourceInterface {
	return s.client.Resource(gvr).Namespace(s.namespace)
}

// oracle compares the stage's upstream with a facade.
func (s *stage) oracle(t *testing.T, run *running) *testkit.Oracle {
	t.Helper()
	facade, err := testkit.NewAsker(run.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &testkit.Oracle{Upstream: s.upstream, Facade: facade}
}

// defineGadgets makes the custom resource that these tests write, and waits until it is served.
func (s *stage) defineGadgets(t *testing.T) {
	t.Helper()
	text := map[string]any{"type": "string"}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": gadgets.GroupResource().String()},
		"spec": map[string]any{
			"group": gadgets.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"selectableFields":         []any{map[string]any{"jsonPath": ".spec.value"}},
				"additionalPrinterColumns": []any{map[string]any{"name": "Value", "type": "string", "jsonPath": ".spec.value"}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{
						"spec": map[string]any{"type": "object", "properties": map[string]any{"value": text}},
					},
				}},
			}},
		},
	}}
	if _, err := s.client.Resource(crds).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	testkit.Eventually(t, within, "gadgets are served", func() error {
		if _, err := s.in(gadgets).List(t.Context(), metav1.ListOptions{}); err != nil {
			return err
		}
		_, err := s.client.Resource(gadgets).Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: new(int64(1))})
		return err
	})
}

// newObject is a config map or gadget; labels are written as in "t=a,u=b".
func newObject(gvr schema.GroupVersionResource, name, labels, value string) *unstructured.Unstructured {
	metadata := map[string]any{"name": name}
	set := map[string]any{}
	for pair := range strings.SplitSeq(labels, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			set[key] = value
		}
	}
	if len(set) > 0 {
		metadata["labels"] = set
	}
	content := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]any{"value": value}}
	if gvr == gadgets {
		content = map[string]any{"apiVersion": "watch.example.com/v1", "kind": "Gadget", "metadata": metadata, "spec": map[string]any{"value": value}}
	}
	return &unstructured.Unstructured{Object: content}
}

// put creates or replaces an object and returns its resourceVersion.
func (s *stage) put(t *testing.T, gvr schema.GroupVersionResource, name, labels, value string) uint64 {
	t.Helper()
	o := newObject(gvr, name, labels, value)
	stored, err := s.in(gvr).Create(t.Context(), o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if stored, err = s.in(gvr).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Fatalf("put %s: %v", name, err)
		}
		o.SetResourceVersion(stored.GetResourceVersion()) // custom resources want it
		stored, err = s.in(gvr).Update(t.Context(), o, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
	return rvOf(t, stored.GetResourceVersion())
}

// create makes an object of any kind.
func (s *stage) create(t *testing.T, gvr schema.GroupVersionResource, content map[string]any, subresources ...string) {
	t.Helper()
	if _, err := s.in(gvr).Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}, subresources...); err != nil {
		t.Fatalf("create: %v", err)
	}
}

func (s *stage) remove(t *testing.T, gvr schema.GroupVersionResource, name string) {
	t.Helper()
	if err := s.in(gvr).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatalf("remove %s: %v", name, err)
	}
}

func (s *stage) patch(t *testing.T, gvr schema.GroupVersionResource, name, patch string, subresources ...string) uint64 {
	t.Helper()
	o, err := s.in(gvr).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	if err != nil {
		t.Fatalf("patch %s: %v", name, err)
	}
	return rvOf(t, o.GetResourceVersion())
}

func rvOf(t *testing.T, s string) uint64 {
	t.Helper()
	rv, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return rv
}

// path is that of a collection; of all namespaces when namespace is empty.
func collection(gvr schema.GroupVersionResource, namespace string) string {
	path := "/apis/" + gvr.Group + "/" + gvr.Version
	if gvr.Group == "" {
		path = "/api/" + gvr.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + gvr.Resource
}

// reach makes both caches hold at least a version, so that what they answer at version 0 is the same.
func reach(t *testing.T, o *testkit.Oracle, path string, rv uint64) {
	t.Helper()
	for _, asker := range []*testkit.Asker{o.Upstream, o.Facade} {
		testkit.Eventually(t, within, "the cache has the objects", func() error {
			answer, err := asker.Ask(t.Context(), testkit.Question{Path: fmt.Sprintf("%s?resourceVersion=%d", path, rv)})
			if err == nil && answer.Code != 200 {
				err = fmt.Errorf("%d: %s", answer.Code, answer.Body)
			}
			return err
		})
	}
}

// pair is the same watch on both servers.
type pair struct {
	upstream, facade *testkit.Recorder
}

func watchBoth(t *testing.T, o *testkit.Oracle, q testkit.Question) pair {
	t.Helper()
	return pair{upstream: o.Upstream.MustRecord(t, q), facade: o.Facade.MustRecord(t, q)}
}

// same compares what both have told up to a version that both must tell of.
func (p pair) same(t *testing.T, last uint64) {
	t.Helper()
	told := func(r *testkit.Recording) bool {
		events, err := r.Events()
		return err == nil && len(events) > 0 && lastEvent(events) >= last
	}
	want := p.upstream.Until(t, within, fmt.Sprintf("upstream tells of %d", last), told)
	got := p.facade.Until(t, within, fmt.Sprintf("the facade tells of %d", last), told)
	if diff := testkit.DiffRecordings(want.Through(last), got.Through(last)); diff != "" {
		t.Errorf("%s\n%s", want.Question, diff)
	}
}

// lastEvent is the highest version of an event that is no bookmark.
func lastEvent(events []testkit.Event) uint64 {
	highest := uint64(0)
	for _, e := range events {
		if e.Type != testkit.Bookmark {
			highest = max(highest, e.RV)
		}
	}
	return highest
}
