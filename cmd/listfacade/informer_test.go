package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/testkit"
)

// held is what an informer knows: key to resourceVersion.
func held(t *testing.T, informer toolscache.SharedIndexInformer) map[string]string {
	t.Helper()
	known := map[string]string{}
	for _, object := range informer.GetStore().List() {
		accessor, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		known[accessor.GetNamespace()+"/"+accessor.GetName()] = accessor.GetResourceVersion()
	}
	return known
}

// present is what the upstream has: key to resourceVersion.
func (s *stage) present(t *testing.T, gvr schema.GroupVersionResource, o metav1.ListOptions) map[string]string {
	t.Helper()
	list, err := s.in(gvr).List(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	for _, item := range list.Items {
		there[item.GetNamespace()+"/"+item.GetName()] = item.GetResourceVersion()
	}
	return there
}

// converges waits until an informer holds exactly what the upstream has.
func (s *stage) converges(t *testing.T, gvr schema.GroupVersionResource, informer toolscache.SharedIndexInformer) {
	t.Helper()
	testkit.Eventually(t, within, "the informer holds what the upstream has", func() error {
		if diff := cmp.Diff(s.present(t, gvr, metav1.ListOptions{}), held(t, informer)); diff != "" {
			return fmt.Errorf("(-upstream +informer)\n%s", diff)
		}
		return nil
	})
}

// start runs an informer until the test ends, and returns when it has synced.
func start(t *testing.T, informer toolscache.SharedIndexInformer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); informer.Run(ctx.Done()) }()
	t.Cleanup(func() { cancel(); <-done })
	testkit.Eventually(t, within, "the informer is synced", func() error {
		if !informer.HasSynced() {
			return fmt.Errorf("it is not")
		}
		return nil
	})
}

// clients are unmodified clients of the facade.
type clients struct {
	typed    kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
}

func newClients(t *testing.T, config *rest.Config) clients {
	t.Helper()
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	unstructured, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	partial, err := metadata.NewForConfig(metadata.ConfigFor(config))
	if err != nil {
		t.Fatal(err)
	}
	return clients{typed: typed, dynamic: unstructured, metadata: partial}
}

// informers are one of each kind that client-go has, for one namespace.
func (c clients) informers(namespace string) map[string]watched {
	typed := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithNamespace(namespace))
	generic := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, namespace, nil)
	partial := metadatainformer.NewFilteredSharedInformerFactory(c.metadata, 0, namespace, nil)
	return map[string]watched{
		"typed":            {configMaps, typed.Core().V1().ConfigMaps().Informer()},
		"dynamic":          {configMaps, generic.ForResource(configMaps).Informer()},
		"dynamic, custom":  {gadgets, generic.ForResource(gadgets).Informer()},
		"metadata":         {configMaps, partial.ForResource(configMaps).Informer()},
		"metadata, custom": {gadgets, partial.ForResource(gadgets).Informer()},
	}
}

type watched struct {
	gvr      schema.GroupVersionResource
	informer toolscache.SharedIndexInformer
}

func TestInformers(t *testing.T) {
	s := newStage(t, cluster)
	s.defineGadgets(t)
	run := startFacade(t, cluster)
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprintf("WatchListClient=%t", streaming), func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, streaming)
			all := newClients(t, run.Config).informers(s.namespace)
			s.churn(t, 20)
			for name, w := range all {
				t.Run(name+" syncs", func(*testing.T) { start(t, w.informer) }) // it runs on for the test above
			}
			s.churn(t, 60)
			for name, w := range all {
				t.Run(name, func(t *testing.T) { s.converges(t, w.gvr, w.informer) })
			}
		})
	}
}

// churn changes config maps and gadgets: each is created, changed or deleted in turn.
func (s *stage) churn(t *testing.T, writes int) {
	t.Helper()
	for i := range writes {
		for _, gvr := range []schema.GroupVersionResource{configMaps, gadgets} {
			name := fmt.Sprintf("o%d", i%7)
			s.put(t, gvr, name, "t=a", fmt.Sprint(i))
			if i%3 == 0 {
				s.remove(t, gvr, name)
			}
		}
	}
}

// TestInformerContent: a typed informer holds the objects, not only their names.
func TestInformerContent(t *testing.T) {
	s := newStage(t, cluster)
	client := newClients(t, startFacade(t, cluster).Config)
	informer := informers.NewSharedInformerFactoryWithOptions(client.typed, 0, informers.WithNamespace(s.namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "t=a" })).Core().V1().ConfigMaps().Informer()
	start(t, informer)
	s.put(t, configMaps, "in", "t=a", "1")
	s.put(t, configMaps, "out", "t=a", "1")
	s.put(t, configMaps, "out", "t=b", "2")
	s.put(t, configMaps, "in", "t=a", "2")
	testkit.Eventually(t, within, "the informer holds what is selected", func() error {
		values := map[string]string{}
		for _, object := range informer.GetStore().List() {
			configMap, ok := object.(*corev1.ConfigMap)
			if !ok {
				return fmt.Errorf("a %T", object)
			}
			values[configMap.Name] = configMap.Data["value"]
		}
		if diff := cmp.Diff(map[string]string{"in": "2"}, values); diff != "" {
			return fmt.Errorf("(-want +got)\n%s", diff)
		}
		return nil
	})
}

// TestRelists walks the ways in which clients list again: the first list at version 0 with a limit, one at the last version, and
// pages, each followed by a watch from the list's version that must neither miss nor repeat anything (I5).
func TestRelists(t *testing.T) {
	s := newStage(t, cluster)
	s.defineGadgets(t)
	o := s.oracle(t, startFacade(t, cluster))
	client := newClients(t, startFacade(t, cluster).Config).dynamic
	for _, gvr := range []schema.GroupVersionResource{configMaps, gadgets} {
		t.Run(gvr.Resource, func(t *testing.T) {
			last := uint64(0)
			for i := range 25 {
				last = s.put(t, gvr, fmt.Sprintf("o%02d", i), "t=a", "1")
			}
			reach(t, o, collection(gvr, s.namespace), last)
			in := client.Resource(gvr).Namespace(s.namespace)
			for name, options := range map[string]metav1.ListOptions{
				"at version 0":        {ResourceVersion: "0", Limit: 500},
				"at the last version": {ResourceVersion: fmt.Sprint(last)},
				"most recent":         {},
				"pages":               {Limit: 10},
				"small pages":         {Limit: 3, LabelSelector: "t=a"},
			} {
				t.Run(name, func(t *testing.T) { s.relist(t, in, gvr, options) })
			}
		})
	}
}

// relist lists, writes, and watches from the list's version.
func (s *stage) relist(t *testing.T, in dynamic.ResourceInterface, gvr schema.GroupVersionResource, options metav1.ListOptions) {
	t.Helper()
	want := s.present(t, gvr, metav1.ListOptions{LabelSelector: options.LabelSelector})
	got := map[string]string{}
	version := ""
	for {
		list, err := in.List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			got[item.GetNamespace()+"/"+item.GetName()] = item.GetResourceVersion()
		}
		if version == "" {
			version = list.GetResourceVersion()
		}
		if version != list.GetResourceVersion() {
			t.Fatalf("pages at %s and %s", version, list.GetResourceVersion())
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			break
		}
		s.put(t, gvr, "o00", "t=a", version+list.GetContinue()) // a page is of the moment of the first
	}
	if options.ResourceVersion == "0" {
		delete(got, "") // whatever is there is right; the watch brings the rest
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("listed (-upstream +facade):\n%s", diff)
	}
	s.follows(t, in, gvr, metav1.ListOptions{ResourceVersion: version, LabelSelector: options.LabelSelector}, got)
}

// follows watches from a list's version until what was listed has become what is there.
func (s *stage) follows(t *testing.T, in dynamic.ResourceInterface, gvr schema.GroupVersionResource, from metav1.ListOptions, got map[string]string) {
	t.Helper()
	watch, err := in.Watch(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	final := s.put(t, gvr, "o01", "t=a", from.ResourceVersion)
	for event := range watch.ResultChan() {
		accessor, err := meta.Accessor(event.Object)
		if err != nil {
			t.Fatalf("%s: %v", event.Type, err)
		}
		if rv := rvOf(t, accessor.GetResourceVersion()); rv <= rvOf(t, from.ResourceVersion) {
			t.Fatalf("an event at %d in a watch from %s", rv, from.ResourceVersion)
		}
		got[accessor.GetNamespace()+"/"+accessor.GetName()] = accessor.GetResourceVersion()
		if rvOf(t, accessor.GetResourceVersion()) == final {
			break
		}
	}
	if diff := cmp.Diff(s.present(t, gvr, metav1.ListOptions{LabelSelector: from.LabelSelector}), got); diff != "" {
		t.Fatalf("listed and watched (-upstream +facade):\n%s", diff)
	}
}
