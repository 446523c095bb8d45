package faults

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// TestGroupMovesToAnotherServer moves the group version of a cached resource to an aggregated API server, which may
// answer each caller differently. The test does not move it back, because kube-apiserver's discovery then omits it.
func TestGroupMovesToAnotherServer(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	moved := schema.GroupVersionResource{Group: "moved.example.com", Version: "v1", Resource: "things"}
	defineThings(t, s, moved)
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	list := testkit.Question{Path: suite.Collection(moved, "") + "?resourceVersion=0"}
	cached := func() error {
		before := o.Answered(t, "cache")
		if answer := o.Facade.MustAsk(t, list); answer.Code != http.StatusOK || o.Answered(t, "cache") == before {
			return fmt.Errorf("got %d, want an answer from the cache", answer.Code)
		}
		return nil
	}
	testkit.Eventually(t, "the cache answers", cached)
	services := s.Client.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	const elsewhere = `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":null}},` +
		`"spec":{"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"nowhere"}}}`
	_, err := services.Patch(t.Context(), "v1."+moved.Group, types.MergePatchType, []byte(elsewhere), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "requests go to the other server, which does not exist", func() error {
		if got := o.Facade.MustAsk(t, list); got.Code != http.StatusServiceUnavailable {
			return fmt.Errorf("%d: %.200s", got.Code, got.Body)
		}
		return nil
	})
}

// defineThings defines a custom resource and waits until kube-apiserver itself serves it.
func defineThings(t *testing.T, s *suite.Fixture, gvr schema.GroupVersionResource) {
	t.Helper()
	_, err := s.Client.Resource(suite.CRDs).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": gvr.GroupResource().String()},
		"spec": map[string]any{
			"group": gvr.Group, "scope": "Namespaced", "names": map[string]any{"plural": gvr.Resource, "kind": "Thing", "listKind": "ThingList"},
			"versions": []any{map[string]any{
				"name": gvr.Version, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "things are served", func() error {
		if code := s.Upstream.MustAsk(t, testkit.Question{Path: suite.Collection(gvr, "")}).Code; code != http.StatusOK {
			return errors.New(http.StatusText(code))
		}
		return nil
	})
}
