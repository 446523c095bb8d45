package incidents

import (
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// templates are for large objects: nobody caches them whom they are not about.
var templates = schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"}

// createTemplate makes one that holds a text.
func createTemplate(t *testing.T, s *suite.Fixture, name, text string) error {
	t.Helper()
	_, err := s.In(templates).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PodTemplate",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"text": text}},
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}},
	}}, metav1.CreateOptions{})
	return err
}

// changeTemplate gives one another text, and returns its resourceVersion.
func changeTemplate(t *testing.T, s *suite.Fixture, name, text string) uint64 {
	t.Helper()
	return s.Patch(t, templates, name, `{"metadata":{"annotations":{"text":`+strconv.Quote(text)+`}}}`)
}
