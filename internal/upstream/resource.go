package upstream

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is one resource of the upstream, as discovery describes it. Equal values are the same resource.
type Resource struct {
	GVR        schema.GroupVersionResource
	GVK        schema.GroupVersionKind
	Namespaced bool
	// Custom is set if a CustomResourceDefinition defines the resource.
	Custom bool
	// Cacheable is set if the resource can be listed and watched, and the upstream itself serves it. Responses of
	// aggregated APIs must not be shared, because some of these APIs filter by the caller's permissions.
	Cacheable bool
}

// Path returns the path of the resource in a namespace, or in all namespaces if namespace is empty.
func (r Resource) Path(namespace string) string {
	var b strings.Builder
	if r.GVR.Group == "" {
		b.WriteString("/api/")
	} else {
		b.WriteString("/apis/" + r.GVR.Group + "/")
	}
	b.WriteString(r.GVR.Version + "/")
	if namespace != "" {
		b.WriteString("namespaces/" + namespace + "/")
	}
	b.WriteString(r.GVR.Resource)
	return b.String()
}

// ReadFromEtcd reports whether kube-apiserver reads the resource from etcd, without a watch cache. Its lists then apply
// a limit at resourceVersion 0. Its watches receive no bookmark except the bookmark after the initial events (semantics
// 2.1, 4.1).
func (r Resource) ReadFromEtcd() bool {
	return r.GVR.Resource == "events" && (r.GVR.Group == "" || r.GVR.Group == "events.k8s.io")
}
