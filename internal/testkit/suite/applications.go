package suite

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Applications is the custom resource of test/clients/controller-runtime.
var Applications = schema.GroupVersionResource{Group: "moved.example.com", Version: "v1", Resource: "applications"}

// DefineApplications defines the custom resource, with a status.
func (f *Fixture) DefineApplications(t testing.TB) {
	t.Helper()
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": Applications.GroupResource().String()},
		"spec": map[string]any{
			"group": Applications.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "applications", "singular": "application", "kind": "Application",
				"listKind": "ApplicationList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": open, "status": open},
				}},
			}},
		},
	}}
	_, err := f.Client.Resource(CRDs).Create(t.Context(), crd, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	testkit.Eventually(t, "Applications are served", func() error {
		_, err := f.In(Applications).List(t.Context(), metav1.ListOptions{})
		return err
	})
}

// CreateApplication creates an Application with a number of replicas.
func (f *Fixture) CreateApplication(t testing.TB, name string, replicas int64) {
	t.Helper()
	f.Create(t, Applications, map[string]any{
		"apiVersion": Applications.GroupVersion().String(), "kind": "Application", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"replicas": replicas},
	})
}

// AwaitApplication waits until the controller has written a status with that number of pods, all of them ready. It
// returns the status.
func (f *Fixture) AwaitApplication(t testing.TB, name string, pods int64) (status map[string]any) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("the status of %s names %d pods", name, pods), func() error {
		is, err := f.In(Applications).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		status, _, err = unstructured.NestedMap(is.Object, "status")
		if err == nil && (status["pods"] != pods || status["ready"] != pods) {
			err = fmt.Errorf("it is %v", status)
		}
		return err
	})
	return status
}
