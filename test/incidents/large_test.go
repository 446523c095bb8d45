package incidents

import (
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// templates are large objects of a kind that no other test caches.
var templates = schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"}

// createTemplate creates a template that contains a text.
func createTemplate(t *testing.T, s *suite.Fixture, name, text string) error {
	t.Helper()
	_, err := s.In(templates).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PodTemplate",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"text": text}},
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}},
	}}, metav1.CreateOptions{})
	return err
}

// changeTemplate changes the text of a template, and returns its resourceVersion.
func changeTemplate(t *testing.T, s *suite.Fixture, name, text string) uint64 {
	t.Helper()
	return s.Patch(t, templates, name, `{"metadata":{"annotations":{"text":`+strconv.Quote(text)+`}}}`)
}
