package watches

import (
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
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// informersOf returns one of each kind of client-go's informers, for one namespace.
func informersOf(c suite.Clients, namespace string) map[string]watched {
	typed := informers.NewSharedInformerFactoryWithOptions(c.Typed, 0, informers.WithNamespace(namespace))
	generic := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.Dynamic, 0, namespace, nil)
	partial := metadatainformer.NewFilteredSharedInformerFactory(c.Metadata, 0, namespace, nil)
	return map[string]watched{
		"typed":            {suite.ConfigMaps, typed.Core().V1().ConfigMaps().Informer()},
		"dynamic":          {suite.ConfigMaps, generic.ForResource(suite.ConfigMaps).Informer()},
		"dynamic, custom":  {suite.Gadgets, generic.ForResource(suite.Gadgets).Informer()},
		"metadata":         {suite.ConfigMaps, partial.ForResource(suite.ConfigMaps).Informer()},
		"metadata, custom": {suite.Gadgets, partial.ForResource(suite.Gadgets).Informer()},
	}
}

type watched struct {
	gvr      schema.GroupVersionResource
	informer toolscache.SharedIndexInformer
}

func TestInformers(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	run := suite.StartFacade(t, suite.Cluster(t))
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprintf("WatchListClient=%t", streaming), func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, streaming)
			all := informersOf(suite.NewClients(t, run.Config), s.Namespace)
			churn(t, s, 20)
			for name, w := range all {
				t.Run(name+" syncs", func(*testing.T) { suite.StartInformer(t, w.informer) }) // it runs on for the test above
			}
			churn(t, s, 60)
			for name, w := range all {
				t.Run(name, func(t *testing.T) { s.Converges(t, w.gvr, w.informer) })
			}
		})
	}
}

// churn changes config maps and gadgets: each is created, changed or deleted in turn.
func churn(t *testing.T, s *suite.Fixture, writes int) {
	t.Helper()
	for i := range writes {
		for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
			name := fmt.Sprintf("o%d", i%7)
			s.Put(t, gvr, name, "t=a", fmt.Sprint(i))
			if i%3 == 0 {
				s.Remove(t, gvr, name)
			}
		}
	}
}

// A typed informer receives the complete objects.
func TestInformerContent(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	client := suite.NewClients(t, suite.StartFacade(t, suite.Cluster(t)).Config)
	informer := informers.NewSharedInformerFactoryWithOptions(client.Typed, 0, informers.WithNamespace(s.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "t=a" })).Core().V1().ConfigMaps().Informer()
	suite.StartInformer(t, informer)
	s.Put(t, suite.ConfigMaps, "in", "t=a", "1")
	s.Put(t, suite.ConfigMaps, "out", "t=a", "1")
	s.Put(t, suite.ConfigMaps, "out", "t=b", "2")
	s.Put(t, suite.ConfigMaps, "in", "t=a", "2")
	testkit.Eventually(t, "the informer has the selected objects", func() error {
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

// Clients list again in several ways: at version 0 with a limit, at the last version, and in pages. A watch from the
// list's version must neither miss nor repeat an event (I5).
func TestRelists(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	client := suite.NewClients(t, suite.StartFacade(t, suite.Cluster(t)).Config).Dynamic
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
		t.Run(gvr.Resource, func(t *testing.T) {
			last := uint64(0)
			for i := range 25 {
				last = s.Put(t, gvr, fmt.Sprintf("o%02d", i), "t=a", "1")
			}
			suite.Reach(t, o, suite.Collection(gvr, s.Namespace), last)
			in := client.Resource(gvr).Namespace(s.Namespace)
			for name, options := range map[string]metav1.ListOptions{
				"at version 0":        {ResourceVersion: "0", Limit: 500},
				"at the last version": {ResourceVersion: fmt.Sprint(last)},
				"most recent":         {},
				"pages":               {Limit: 10},
				"small pages":         {Limit: 3, LabelSelector: "t=a"},
			} {
				t.Run(name, func(t *testing.T) { relist(t, s, in, gvr, options) })
			}
		})
	}
}

// relist lists, writes, and watches from the list's version.
func relist(t *testing.T, s *suite.Fixture, in dynamic.ResourceInterface, gvr schema.GroupVersionResource, options metav1.ListOptions) {
	t.Helper()
	want := s.Present(t, gvr, metav1.ListOptions{LabelSelector: options.LabelSelector})
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
		s.Put(t, gvr, "o00", "t=a", version+list.GetContinue()) // a page is of the moment of the first
	}
	if options.ResourceVersion == "0" {
		delete(got, "") // any state is correct; the watch completes it
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("listed (-upstream +facade):\n%s", diff)
	}
	follows(t, s, in, gvr, metav1.ListOptions{ResourceVersion: version, LabelSelector: options.LabelSelector}, got)
}

// follows watches from a list's version until the client has the current state.
func follows(t *testing.T, s *suite.Fixture, in dynamic.ResourceInterface, gvr schema.GroupVersionResource, from metav1.ListOptions, got map[string]string) {
	t.Helper()
	watch, err := in.Watch(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	final := s.Put(t, gvr, "o01", "t=a", from.ResourceVersion)
	for event := range watch.ResultChan() {
		accessor, err := meta.Accessor(event.Object)
		if err != nil {
			t.Fatalf("%s: %v", event.Type, err)
		}
		if rv := suite.RVOf(t, accessor.GetResourceVersion()); rv <= suite.RVOf(t, from.ResourceVersion) {
			t.Fatalf("got an event at %d in a watch from %s", rv, from.ResourceVersion)
		}
		got[accessor.GetNamespace()+"/"+accessor.GetName()] = accessor.GetResourceVersion()
		if suite.RVOf(t, accessor.GetResourceVersion()) == final {
			break
		}
	}
	if diff := cmp.Diff(s.Present(t, gvr, metav1.ListOptions{LabelSelector: from.LabelSelector}), got); diff != "" {
		t.Fatalf("listed and watched (-upstream +facade):\n%s", diff)
	}
}
