package suite

import (
	"context"
	"strconv"
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

// Fixture is a namespace for one test, with methods to change its objects.
type Fixture struct {
	Namespace string
	Config    *rest.Config // of the upstream's administrator
	Upstream  *testkit.Asker
	Client    dynamic.Interface
}

// NewFixture creates a namespace. It waits until controllers have created their objects there, so that only the test
// writes later.
func NewFixture(t testing.TB, c *testkit.Cluster) *Fixture {
	t.Helper()
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	f := &Fixture{Namespace: "suite-" + strconv.FormatInt(time.Now().UnixNano(), 36), Config: config}
	if f.Upstream, err = testkit.NewAsker(config); err != nil {
		t.Fatal(err)
	}
	if f.Client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": f.Namespace},
	}}
	if _, err := f.Client.Resource(Namespaces).Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// An error is ignored, because the cluster ends with the tests.
		_ = f.Client.Resource(Namespaces).Delete(context.Background(), f.Namespace, metav1.DeleteOptions{})
	})
	if _, controllers := c.Processes[ControllerManager]; controllers {
		testkit.Eventually(t, "controllers have created the namespace's objects", func() error {
			if _, err := f.In(ConfigMaps).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
				return err
			}
			_, err := f.In(Accounts).Get(t.Context(), "default", metav1.GetOptions{})
			return err
		})
	}
	return f
}

// In returns the client of a resource in the namespace.
func (f *Fixture) In(gvr schema.GroupVersionResource) dynamic.ResourceInterface {
	return f.Client.Resource(gvr).Namespace(f.Namespace)
}

// OracleOf returns an oracle of the shared cluster and a facade.
func OracleOf(t testing.TB, facade *Facade) *testkit.Oracle {
	t.Helper()
	config, err := Cluster(t).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	asker, err := testkit.NewAsker(config)
	if err != nil {
		t.Fatal(err)
	}
	return (&Fixture{Upstream: asker}).Oracle(t, facade)
}

// Oracle returns an oracle of the fixture's upstream and a facade.
func (f *Fixture) Oracle(t testing.TB, facade *Facade) *testkit.Oracle {
	t.Helper()
	asker, err := testkit.NewAsker(facade.Config)
	if err != nil {
		t.Fatal(err)
	}
	oracle := &testkit.Oracle{Upstream: f.Upstream, Facade: asker}
	if facade.Facade != nil {
		oracle.Counts = facade.Answered // a scrape is slow with the race detector
	}
	return oracle
}

// Put creates or replaces an object, and returns its resourceVersion.
func (f *Fixture) Put(t testing.TB, gvr schema.GroupVersionResource, name, labels, value string) uint64 {
	t.Helper()
	o := NewObject(gvr, name, labels, value)
	stored, err := f.In(gvr).Create(t.Context(), o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if stored, err = f.In(gvr).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Fatalf("put %s: %v", name, err)
		}
		o.SetResourceVersion(stored.GetResourceVersion()) // custom resources require it
		stored, err = f.In(gvr).Update(t.Context(), o, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
	return RVOf(t, stored.GetResourceVersion())
}

// Create creates an object of any kind.
func (f *Fixture) Create(t testing.TB, gvr schema.GroupVersionResource, content map[string]any,
	subresources ...string) {
	t.Helper()
	if _, err := f.In(gvr).Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{},
		subresources...); err != nil {
		t.Fatalf("create: %v", err)
	}
}

// Remove deletes an object without a grace period.
func (f *Fixture) Remove(t testing.TB, gvr schema.GroupVersionResource, name string) {
	t.Helper()
	if err := f.In(gvr).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatalf("remove %s: %v", name, err)
	}
}

// Patch applies a merge patch to an object, and returns its resourceVersion.
func (f *Fixture) Patch(t testing.TB, gvr schema.GroupVersionResource, name, patch string,
	subresources ...string) uint64 {
	t.Helper()
	o, err := f.In(gvr).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{},
		subresources...)
	if err != nil {
		t.Fatalf("patch %s: %v", name, err)
	}
	return RVOf(t, o.GetResourceVersion())
}

// Present returns the resourceVersions of the upstream's objects by key.
func (f *Fixture) Present(t testing.TB, gvr schema.GroupVersionResource, o metav1.ListOptions) map[string]string {
	t.Helper()
	list, err := f.In(gvr).List(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	for _, item := range list.Items {
		there[item.GetNamespace()+"/"+item.GetName()] = item.GetResourceVersion()
	}
	return there
}
