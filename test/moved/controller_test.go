package moved

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The resources of test/clients/controller-runtime.
var (
	applications = schema.GroupVersionResource{Group: "moved.example.com", Version: "v1", Resource: "applications"}
	leases       = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// A manager of controller-runtime reads through its cache from the facade, and writes to kube-apiserver. While there is
// no facade, it stays the leader and writes. Afterwards it continues.
func TestControllerRuntimeManagerIsSplit(t *testing.T) {
	t.Parallel()
	program := compiled(t, "controller-runtime")
	s := newServers(t)
	f := suite.NewFixture(t, s.cluster)
	defineApplications(t, f)
	start(t, nil, program, s.kubeconfig, f.Namespace, s.run.URL, s.run.Config.CAFile)
	f.Create(t, applications, application(2))
	awaitStatus(t, f, 2)

	s.run.Close(t)
	renewed := renewals(t, f)
	testkit.Eventually(t, "the leader renews its lease without a facade", func() error {
		if renewals(t, f) == renewed {
			return errNotYet
		}
		return nil
	})
	f.Patch(t, applications, "web", `{"spec":{"replicas":3}}`)
	s.start(t)
	awaitStatus(t, f, 3)
	s.wellSplit(t)
	for verb, resources := range map[string][]string{
		"watch": {applications.GroupResource().String(), "deployments.apps", "pods"},
	} {
		for _, resource := range resources {
			if s.facade.count(verb, resource) == 0 {
				t.Errorf("the facade got no %s of %s", verb, resource)
			}
		}
	}
	if n := leaders(t, f); n != 1 {
		t.Errorf("the lease was taken %d times, want 1", n)
	}
}

// defineApplications defines the custom resource, with a status.
func defineApplications(t *testing.T, f *suite.Fixture) {
	t.Helper()
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": applications.GroupResource().String()},
		"spec": map[string]any{
			"group": applications.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "applications", "singular": "application", "kind": "Application", "listKind": "ApplicationList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": open, "status": open},
				}},
			}},
		},
	}}
	if _, err := f.Client.Resource(suite.CRDs).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "Applications are served", func() error {
		_, err := f.In(applications).List(t.Context(), metav1.ListOptions{})
		return err
	})
}

func application(replicas int) map[string]any {
	return map[string]any{
		"apiVersion": applications.GroupVersion().String(), "kind": "Application", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"replicas": int64(replicas)},
	}
}

// awaitStatus waits until the controller has seen that many ready pods, and written that.
func awaitStatus(t *testing.T, f *suite.Fixture, pods int64) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("the status names %d pods", pods), func() error {
		is, err := f.In(applications).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		status, _, err := unstructured.NestedMap(is.Object, "status")
		if err == nil && (status["pods"] != pods || status["ready"] != pods) {
			err = fmt.Errorf("it is %v", status)
		}
		return err
	})
}

// renewals returns the time of the last renewal of the lease.
func renewals(t *testing.T, f *suite.Fixture) string {
	t.Helper()
	return leaseField(t, f, "renewTime").(string)
}

// leaders returns how often a program became the leader.
func leaders(t *testing.T, f *suite.Fixture) int64 {
	t.Helper()
	changes, _ := leaseField(t, f, "leaseTransitions").(int64)
	return changes + 1
}

func leaseField(t *testing.T, f *suite.Fixture, name string) any {
	t.Helper()
	lease, err := f.In(leases).Get(t.Context(), "applications", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := unstructured.NestedFieldNoCopy(lease.Object, "spec", name)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
