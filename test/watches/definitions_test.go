package watches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// workloadCluster is a cluster without controllers, in which only scripts write the watched objects, with two facades:
// one directly in front of it, and the last of three in a row.
type workloadCluster struct {
	*suite.Fixture
	facades []*suite.Facade
}

func newWorkloadCluster(t *testing.T) *workloadCluster {
	t.Helper()
	own, err := testkit.StartCluster(t.Context(), "--components=none")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	chain := suite.StartChain(t, own, 3, func(c *facade.Config) {
		c.BookmarkInterval = 100 * time.Millisecond
		// A lane's window begins with it in each encoding. No watch starts before.
		c.Preload, c.PreloadEncodings = []string{"configmaps", "pods", "events", "nodes", "namespaces"}, []string{"json", "protobuf"}
	})
	return &workloadCluster{Fixture: suite.NewFixture(t, own), facades: []*suite.Facade{chain[0], chain[2]}}
}

// slot has separate custom resources in a workload cluster, and one of its facades. It runs one workload at a time.
type slot struct {
	*workloadCluster
	server  *suite.Facade
	oracle  *testkit.Oracle
	group   string
	defined map[string]definition // by resource
}

// definition is the variable part of a custom resource's definition.
type definition struct{ column, unselectable, version, note bool }

func (c *workloadCluster) newSlot(t *testing.T, number int) *slot {
	t.Helper()
	s := &slot{
		workloadCluster: c, server: c.facades[number%len(c.facades)], group: fmt.Sprintf("slot%d.example.com", number),
		defined: map[string]definition{},
	}
	s.oracle = s.Oracle(t, s.server)
	for _, resource := range []string{"gadgets", "rings"} {
		s.define(t, resource, definition{})
	}
	return s
}

func (s *slot) gvr(resource string) schema.GroupVersionResource {
	if resource == "gadgets" || resource == "rings" {
		return schema.GroupVersionResource{Group: s.group, Version: "v1", Resource: resource}
	}
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

// define creates or changes a custom resource's definition, and waits until it is served accordingly.
func (s *slot) define(t *testing.T, resource string, d definition) {
	t.Helper()
	name := s.gvr(resource).GroupResource().String()
	spec := crdSpec(s.group, resource, d)
	client := s.Client.Resource(suite.CRDs)
	testkit.Eventually(t, "the definition is written", func() error {
		crd, err := client.Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = client.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name}, "spec": spec,
			}}, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		crd.SetAnnotations(map[string]string{"note": fmt.Sprint(d.note)})
		crd.Object["spec"] = spec
		_, err = client.Update(t.Context(), crd, metav1.UpdateOptions{})
		return err
	})
	testkit.Eventually(t, "the resource is served as it is defined", func() error { return s.servedAs(t.Context(), resource, d) })
	s.defined[resource] = d
}

// servedAs returns an error until a resource is served according to its definition.
func (s *slot) servedAs(ctx context.Context, resource string, d definition) error {
	gvr := s.gvr(resource)
	list := func(version string, o metav1.ListOptions) error {
		_, err := s.Client.Resource(gvr.GroupResource().WithVersion(version)).List(ctx, o)
		return err
	}
	if err := list("v1", metav1.ListOptions{}); err != nil {
		return err
	}
	if err := list("v1beta1", metav1.ListOptions{}); (err == nil) != d.version {
		return fmt.Errorf("got v1beta1 served %t", err == nil)
	}
	err := list("v1", metav1.ListOptions{FieldSelector: "spec.value=x"})
	if selectable := resource == "gadgets" && !d.unselectable; (err == nil) != selectable {
		return fmt.Errorf("got selectable spec.value %t", err == nil)
	}
	table, err := s.Upstream.Ask(ctx, testkit.Question{Path: suite.Collection(gvr, ""), Header: suite.Accepting(suite.AcceptTable)})
	if err != nil {
		return err
	}
	if columns := countColumns(table.Body); columns != len(crdColumns(d))+1 {
		return fmt.Errorf("got %d columns: %s", columns, table.Body)
	}
	return nil
}

func crdColumns(d definition) []any {
	columns := []any{map[string]any{"name": "Value", "type": "string", "jsonPath": ".spec.value"}}
	if d.column {
		columns = append(columns, map[string]any{"name": "Born", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
	}
	return columns
}

// crdSpec returns the definition of gadgets, which are namespaced and selectable by value, or of rings, which are not.
func crdSpec(group, resource string, d definition) map[string]any {
	description := ""
	if resource == "rings" && d.unselectable { // so that this changes something of them, too
		description = "What cannot be selected by anything."
	}
	version := func(name string, served, stored bool) map[string]any {
		v := map[string]any{
			"name": name, "served": served, "storage": stored, "additionalPrinterColumns": crdColumns(d),
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "description": description, "properties": map[string]any{
					"spec": map[string]any{"type": "object", "properties": map[string]any{"value": map[string]any{"type": "string"}}},
				},
			}},
		}
		if resource == "gadgets" && !d.unselectable {
			v["selectableFields"] = []any{map[string]any{"jsonPath": ".spec.value"}}
		}
		return v
	}
	scope, kind := "Namespaced", "Gadget"
	if resource == "rings" {
		scope, kind = "Cluster", "Ring"
	}
	return map[string]any{
		"group": group, "scope": scope,
		"names":    map[string]any{"plural": resource, "kind": kind, "listKind": kind + "List"},
		"versions": []any{version("v1", true, true), version("v1beta1", d.version, false)},
	}
}

// undefine deletes a custom resource's definition, and waits until it is gone.
func (s *slot) undefine(t *testing.T, resource string) {
	t.Helper()
	client, name := s.Client.Resource(suite.CRDs), s.gvr(resource).GroupResource().String()
	if err := client.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the definition is gone", func() error {
		if left, err := s.Client.Resource(s.gvr(resource)).List(t.Context(), metav1.ListOptions{}); err == nil {
			for _, o := range left.Items { // objects with finalizers are not deleted before
				_, _ = s.Client.Resource(s.gvr(resource)).Namespace(o.GetNamespace()).Patch(t.Context(), o.GetName(), types.MergePatchType,
					[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}) // it may be gone by now
			}
		}
		_, err := client.Get(t.Context(), name, metav1.GetOptions{})
		switch {
		case err == nil:
			return errors.New("it still exists")
		case apierrors.IsNotFound(err):
			return nil
		}
		return err
	})
}

func countColumns(table []byte) int {
	var content struct{ ColumnDefinitions []any }
	if json.Unmarshal(table, &content) != nil {
		return 0
	}
	return len(content.ColumnDefinitions)
}
