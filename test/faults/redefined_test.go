package faults

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// notes are custom resources whose definition changes.
var notes = schema.GroupVersionResource{Group: "redefined.example.com", Version: "v1", Resource: "notes"}

// The test changes a definition so that kube-apiserver serves the same objects with other content, and reads
// immediately afterwards.
func TestRedefinedResourceIsReadInItsNewForm(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	list := testkit.Question{Path: suite.Collection(notes, "")}
	defineNotes(t, s, "")
	for i := range 30 {
		s.Create(t, notes, map[string]any{
			"apiVersion": notes.GroupVersion().String(), "kind": "Note", "metadata": map[string]any{"name": fmt.Sprintf("note-%d", i)},
			"spec": map[string]any{"text": strings.Repeat("x", 10<<10)}, // large enough for freshness checks
		})
	}
	for i := range settings.Amount(2, 10) {
		testkit.Eventually(t, "the facade serves from the cache", func() error {
			before := o.Answered(t, "cache")
			if o.Facade.MustAsk(t, list); o.Answered(t, "cache") == before {
				return errors.New("the request is forwarded")
			}
			return nil
		})
		shown := fmt.Sprintf(`"mark":"mark-%d"`, i)
		defineNotes(t, s, fmt.Sprintf("mark-%d", i))
		testkit.Eventually(t, "kube-apiserver serves the new content", func() error {
			if !bytes.Contains(s.Upstream.MustAsk(t, list).Body, []byte(shown)) {
				return errors.New("it serves the old content")
			}
			return nil
		})
		o.Compare(t, list)
		o.Compare(t, testkit.Question{Path: suite.Collection(notes, s.Namespace) + "/note-7"})
		o.Compare(t, testkit.Question{Path: list.Path + "?includeObject=Object", Header: suite.Accepting(suite.AcceptTable)})
	}
}

// defineNotes creates the definition, or changes the default of a field that no object sets. Without a default the
// schema has no such field.
func defineNotes(t *testing.T, s *suite.Fixture, mark string) {
	t.Helper()
	name, fields := notes.GroupResource().String(), map[string]any{"text": map[string]any{"type": "string"}}
	if mark != "" {
		fields["mark"] = map[string]any{"type": "string", "default": mark}
	}
	spec := map[string]any{
		"group": notes.Group, "scope": "Namespaced", "names": map[string]any{"plural": "notes", "singular": "note", "kind": "Note", "listKind": "NoteList"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": fields}},
			}},
		}},
	}
	client := s.Client.Resource(suite.CRDs)
	testkit.Eventually(t, "the definition is written", func() error {
		crd, err := client.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			_, err = client.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name}, "spec": spec,
			}}, metav1.CreateOptions{})
			return err
		}
		crd.Object["spec"] = spec
		_, err = client.Update(t.Context(), crd, metav1.UpdateOptions{})
		return err
	})
	testkit.Eventually(t, "notes are served", func() error {
		_, err := s.In(notes).List(t.Context(), metav1.ListOptions{})
		return err
	})
}
