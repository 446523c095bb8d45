package testkit

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// FreshKind is a kind in tests of read-your-writes.
type FreshKind struct {
	GVR     schema.GroupVersionResource
	Kind    string
	Cluster bool           // set for a cluster-scoped kind
	Content map[string]any // required fields of an object, except metadata
}

// FreshKinds returns ten kinds of several groups, namespaced and cluster-scoped. Controllers ignore the tests' objects.
func FreshKinds() []FreshKind {
	kind := func(group, version, resource, name string, content map[string]any) FreshKind {
		return FreshKind{GVR: schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, Kind: name,
			Content: content}
	}
	clusterWide := func(k FreshKind) FreshKind { k.Cluster = true; return k }
	selector := map[string]any{"matchLabels": map[string]any{"app": "fresh"}}
	return []FreshKind{
		kind("coordination.k8s.io", "v1", "leases", "Lease", nil),
		kind("", "v1", "configmaps", "ConfigMap", nil),
		kind("", "v1", "podtemplates", "PodTemplate", map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "c", "image": "i"}}}}}),
		kind("", "v1", "services", "Service", map[string]any{"spec": map[string]any{
			"clusterIP": "None", "ports": []any{map[string]any{"port": int64(80)}}}}),
		kind("", "v1", "limitranges", "LimitRange", map[string]any{"spec": map[string]any{"limits": []any{}}}),
		kind("networking.k8s.io", "v1", "ingresses", "Ingress", map[string]any{"spec": map[string]any{
			"defaultBackend": map[string]any{"service": map[string]any{"name": "fresh",
				"port": map[string]any{"number": int64(80)}}}}}),
		kind("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy",
			map[string]any{"spec": map[string]any{"podSelector": selector}}),
		kind("rbac.authorization.k8s.io", "v1", "roles", "Role", map[string]any{"rules": []any{}}),
		clusterWide(kind("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", map[string]any{"value": int64(1)})),
		clusterWide(kind("storage.k8s.io", "v1", "storageclasses", "StorageClass",
			map[string]any{"provisioner": "fresh.example.com/none"})),
	}
}

// In returns the client of the kind's objects.
func (k FreshKind) In(client dynamic.Interface, namespace string) dynamic.ResourceInterface {
	if k.Cluster {
		return client.Resource(k.GVR)
	}
	return client.Resource(k.GVR).Namespace(namespace)
}

// Path returns the path of the kind's objects in a namespace.
func (k FreshKind) Path(namespace string) string {
	path := "/apis/" + k.GVR.Group + "/" + k.GVR.Version
	if k.GVR.Group == "" {
		path = "/api/" + k.GVR.Version
	}
	if !k.Cluster {
		path += "/namespaces/" + namespace
	}
	return path + "/" + k.GVR.Resource
}

// Write creates or changes an object, and returns its new resourceVersion.
func (k FreshKind) Write(ctx context.Context, client dynamic.Interface, namespace, name, value string) (string, error) {
	in := k.In(client, namespace)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"fresh":%q}}}`, value)
	stored, err := in.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		stored, err = in.Create(ctx, k.object(name, value), metav1.CreateOptions{})
	}
	if err != nil {
		return "", fmt.Errorf("write %s %s: %w", k.GVR.Resource, name, err)
	}
	return stored.GetResourceVersion(), nil
}

func (k FreshKind) object(name, value string) *unstructured.Unstructured {
	content := map[string]any{
		"apiVersion": k.GVR.GroupVersion().String(), "kind": k.Kind,
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"fresh": value}},
	}
	for field, value := range k.Content {
		content[field] = value
	}
	return &unstructured.Unstructured{Object: content}
}
