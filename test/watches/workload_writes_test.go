package watches

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// podPhases are the phases that the values of pods stand for.
var podPhases = map[string]string{"0": "Pending", "1": "Running", "2": "Succeeded"}

// objects returns the client of a script's resource.
func (p *workload) objects(resource string) dynamic.ResourceInterface {
	client := p.Client.Resource(p.gvr(resource))
	if p.namespaced(resource) {
		return client.Namespace(p.namespace)
	}
	return client
}

func (p *workload) namespaced(resource string) bool {
	return resource != "nodes" && resource != "namespaces" && resource != "rings"
}

// newThing returns an object without content.
func (p *workload) newThing(resource, name string) *unstructured.Unstructured {
	kinds := map[string]string{
		"configmaps": "ConfigMap", "pods": "Pod", "events": "Event", "gadgets": "Gadget", "rings": "Ring", "nodes": "Node", "namespaces": "Namespace",
	}
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(p.gvr(resource).GroupVersion().WithKind(kinds[resource]))
	o.SetName(name)
	switch resource {
	case "pods":
		o.Object["spec"] = map[string]any{
			"schedulerName": "none", "automountServiceAccountToken": false,
			"containers": []any{map[string]any{"name": "c", "image": "registry.example/c:1"}},
		}
	case "events":
		o.Object["involvedObject"] = map[string]any{"kind": "Pod", "namespace": p.namespace, "name": "x1"}
	}
	return o
}

// fill sets an object's labels and value. A pod's value is its status, which is written separately.
func (p *workload) fill(o *unstructured.Unstructured, resource, labels, value string) {
	set := map[string]string{"run": p.name}
	for pair := range strings.SplitSeq(labels, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			set[key] = value
		}
	}
	o.SetLabels(set)
	switch resource {
	case "configmaps":
		o.Object["data"] = map[string]any{"value": value}
	case "events":
		o.Object["type"] = map[string]string{"0": "Normal", "1": "Warning", "2": "Warning"}[value]
		o.Object["reason"] = "r" + value
	case "gadgets", "rings":
		o.Object["spec"] = map[string]any{"value": value}
	case "nodes":
		spec, _ := o.Object["spec"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
		}
		spec["unschedulable"] = value == "1"
		o.Object["spec"] = spec
	case "namespaces":
		o.SetAnnotations(map[string]string{"value": value})
	}
}

// put creates or changes an object, and returns its version. It retries while its namespace, service account or
// definition is being created.
func (p *workload) put(t *testing.T, resource, name, labels, value string) uint64 {
	t.Helper()
	var stored *unstructured.Unstructured
	testkit.Eventually(t, "write "+resource+" "+name, func() error {
		o, err := p.objects(resource).Get(t.Context(), name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			o = p.newThing(resource, name)
			p.fill(o, resource, labels, value)
			stored, err = p.objects(resource).Create(t.Context(), o, metav1.CreateOptions{})
		case err == nil:
			p.fill(o, resource, labels, value)
			stored, err = p.objects(resource).Update(t.Context(), o, metav1.UpdateOptions{})
		}
		if err == nil && resource == "pods" {
			_ = unstructured.SetNestedField(stored.Object, podPhases[value], "status", "phase")
			stored, err = p.objects(resource).UpdateStatus(t.Context(), stored, metav1.UpdateOptions{})
		}
		return err
	})
	version := suite.RVOf(t, stored.GetResourceVersion())
	p.versions = append(p.versions, version)
	return version
}

// may fails the test for an unexpected error. The object may be missing or terminating.
func may(t *testing.T, err error) {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
		t.Fatal(err)
	}
}

func (p *workload) remove(t *testing.T, resource, name string) {
	t.Helper()
	may(t, p.objects(resource).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
}

// clear deletes the script's objects of a resource. Namespaces do not support deletion of a collection.
func (p *workload) clear(t *testing.T, resource, labels string) {
	t.Helper()
	selector := "run=" + p.name
	if labels != "-" {
		selector += "," + labels
	}
	if resource == "namespaces" {
		return
	}
	may(t, p.objects(resource).DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))},
		metav1.ListOptions{LabelSelector: selector}))
}

func (p *workload) hold(t *testing.T, resource, name, finalizers string) {
	t.Helper()
	o, err := p.objects(resource).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
	may(t, err)
	if err == nil {
		p.versions = append(p.versions, suite.RVOf(t, o.GetResourceVersion()))
	}
}

const (
	finalizer   = `["example.com/held"]`
	noFinalizer = `null`
)

// release removes the finalizers of an object. A namespace that is being deleted also has its own finalizer, which a
// controller would remove.
func (p *workload) release(t *testing.T, resource, name string) {
	t.Helper()
	p.hold(t, resource, name, noFinalizer)
	if resource == "namespaces" {
		p.finalize(t, name)
	}
}

func (p *workload) finalize(t *testing.T, namespace string) {
	t.Helper()
	client := p.Client.Resource(suite.Namespaces)
	o, err := client.Get(t.Context(), namespace, metav1.GetOptions{})
	may(t, err)
	if err != nil || o.GetDeletionTimestamp() == nil {
		return
	}
	unstructured.RemoveNestedField(o.Object, "spec", "finalizers")
	_, err = client.Update(t.Context(), o, metav1.UpdateOptions{}, "finalize")
	may(t, err)
}

func (p *workload) bindTo(t *testing.T, name, node string) {
	t.Helper()
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": name},
		"target": map[string]any{"apiVersion": "v1", "kind": "Node", "name": node},
	}}
	_, err := p.objects("pods").Create(t.Context(), binding, metav1.CreateOptions{}, "binding")
	may(t, err)
}

// destroy deletes the script's namespace like its controller, and creates it again.
func (p *workload) destroy(t *testing.T) {
	t.Helper()
	may(t, p.Client.Resource(suite.Namespaces).Delete(t.Context(), p.namespace, metav1.DeleteOptions{}))
	for _, resource := range slices.Sorted(maps.Keys(p.phases)) {
		if !p.namespaced(resource) {
			continue
		}
		p.clear(t, resource, "-")
		left, err := p.objects(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range left.Items {
			p.hold(t, resource, o.GetName(), noFinalizer)
		}
	}
	p.finalize(t, p.namespace)
	p.build(t)
}

// build creates the script's namespace, and the objects that pods need.
func (p *workload) build(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the namespace is created", func() error {
		o := p.newThing("namespaces", p.namespace)
		p.fill(o, "namespaces", "-", "0")
		_, err := p.Client.Resource(suite.Namespaces).Create(t.Context(), o, metav1.CreateOptions{})
		return err
	})
	testkit.Eventually(t, "the service account is created", func() error {
		account := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default"}}}
		_, err := p.Client.Resource(suite.Accounts).Namespace(p.namespace).Create(t.Context(), account, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}
