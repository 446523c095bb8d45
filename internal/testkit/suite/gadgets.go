package suite

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
)

// DefineGadgets defines the custom resource of tests, and waits until it is served.
func (f *Fixture) DefineGadgets(t testing.TB) {
	t.Helper()
	text := map[string]any{"type": "string"}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": Gadgets.GroupResource().String()},
		"spec": map[string]any{
			"group": Gadgets.Group, "scope": "Namespaced",
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
	if _, err := f.Client.Resource(CRDs).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	testkit.Eventually(t, "gadgets are served", func() error {
		if _, err := f.In(Gadgets).List(t.Context(), metav1.ListOptions{}); err != nil {
			return err
		}
		_, err := f.Client.Resource(Gadgets).Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: new(int64(1))})
		return err
	})
}

// NewObject returns a config map or gadget. Labels are written as in "t=a,u=b".
func NewObject(gvr schema.GroupVersionResource, name, labels, value string) *unstructured.Unstructured {
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
	content := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
		"data": map[string]any{"value": value}}
	if gvr == Gadgets {
		content = map[string]any{"apiVersion": "watch.example.com/v1", "kind": "Gadget", "metadata": metadata,
			"spec": map[string]any{"value": value}}
	}
	return &unstructured.Unstructured{Object: content}
}
