package suite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Clients are unmodified client-go clients of a server.
type Clients struct {
	Typed    kubernetes.Interface
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
}

// NewClients returns clients for the server and credentials of a configuration.
func NewClients(t testing.TB, config *rest.Config) Clients {
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
	return Clients{Typed: typed, Dynamic: unstructured, Metadata: partial}
}

// Held returns the resourceVersions of an informer's objects by key.
func Held(t testing.TB, informer toolscache.SharedIndexInformer) map[string]string {
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

// Converges waits until an informer has exactly the upstream's objects.
func (f *Fixture) Converges(t testing.TB, gvr schema.GroupVersionResource, informer toolscache.SharedIndexInformer) {
	t.Helper()
	testkit.Eventually(t, "the informer has the upstream's objects", func() error {
		if diff := cmp.Diff(f.Present(t, gvr, metav1.ListOptions{}), Held(t, informer)); diff != "" {
			return fmt.Errorf("(-upstream +informer)\n%s", diff)
		}
		return nil
	})
}

// RunInformer runs an informer until the test ends.
func RunInformer(t testing.TB, informer toolscache.SharedIndexInformer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); informer.Run(ctx.Done()) }()
	t.Cleanup(func() { cancel(); <-done })
}

// StartInformer is RunInformer that returns when the informer has synced.
func StartInformer(t testing.TB, informer toolscache.SharedIndexInformer) {
	t.Helper()
	RunInformer(t, informer)
	testkit.Eventually(t, "the informer is synced", func() error {
		if !informer.HasSynced() {
			return errors.New("it has not synced")
		}
		return nil
	})
}
