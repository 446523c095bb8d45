package questions

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// newOracle returns an oracle of the cluster with fixtures and its facade.
func newOracle(t *testing.T, settings ...func(*facade.Config)) *testkit.Oracle {
	t.Helper()
	return suite.OracleOf(t, suite.StartFacade(t, suite.Furnished(t), settings...))
}

// cacheEverything configures a facade that also caches the resources that it forwards by default.
func cacheEverything(c *facade.Config) { c.Uncached = nil }

// served is a resource that the cluster serves with list and watch.
type served struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
	objects    []metav1.ObjectMeta // of the fixtures
}

// fixturesOf returns the cluster's resources with list and watch, and their fixtures. It ignores groups of other tests.
func fixturesOf(t *testing.T) []served {
	t.Helper()
	config, err := suite.Furnished(t).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := discover.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var all []served
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "watch") || !slices.Contains(resource.Verbs, "list") || strings.HasSuffix(gv.Group, ".example.com") {
				continue
			}
			s := served{GroupVersionResource: gv.WithResource(resource.Name), kind: resource.Kind, namespaced: resource.Namespaced}
			found, err := objects.Resource(s.GroupVersionResource).List(t.Context(), metav1.ListOptions{LabelSelector: "oracle"})
			if err != nil {
				t.Fatal(err)
			}
			s.objects = metaOf(found)
			all = append(all, s)
		}
	}
	return all
}

func metaOf(list *unstructured.UnstructuredList) []metav1.ObjectMeta {
	var all []metav1.ObjectMeta
	for _, item := range list.Items {
		all = append(all, metav1.ObjectMeta{Namespace: item.GetNamespace(), Name: item.GetName(), ResourceVersion: item.GetResourceVersion()})
	}
	return all
}

func (s served) String() string { return s.Resource + "." + s.Version + "." + s.Group }

// collection returns the path of the resource's objects in a namespace, or in all.
func (s served) collection(namespace string) string {
	path := "/apis/" + s.Group + "/" + s.Version
	if s.Group == "" {
		path = "/api/" + s.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + s.Resource
}

// object returns the path of one object.
func (s served) object(meta metav1.ObjectMeta) string {
	return s.collection(meta.Namespace) + "/" + meta.Name
}

// collections returns the paths to compare: all namespaces, one with objects, one without.
func (s served) collections() []string {
	if !s.namespaced {
		return []string{s.collection("")}
	}
	return []string{s.collection(""), s.collection(suite.FirstNamespace), s.collection(suite.EmptyNamespace)}
}

// The test fails if kube-apiserver serves a new kind without fixtures.
func TestFixturesCoverEveryKind(t *testing.T) {
	kinds := fixturesOf(t)
	if len(kinds) < 60 {
		t.Fatalf("the cluster serves %d kinds with list and watch; discovery is not complete", len(kinds))
	}
	for _, kind := range kinds {
		if len(kind.objects) < 2 {
			t.Errorf("%s has %d fixtures in testdata/objects, need 2", kind.GroupVersionResource, len(kind.objects))
		}
	}
}
