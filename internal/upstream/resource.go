package upstream

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is one resource that the upstream serves, as its discovery describes it. Resources are compared: two that
// are equal are the same.
type Resource struct {
	GVR        schema.GroupVersionResource
	GVK        schema.GroupVersionKind
	Namespaced bool
	// Custom: it is defined by a CustomResourceDefinition.
	Custom bool
	// Cacheable: it can be listed and watched, and the upstream itself serves it. Aggregated APIs may answer each
	// caller differently (some filter by what the caller may see), so their answers must not be shared.
	Cacheable bool
}

// Path is the path of all objects of the resource, or of one namespace's when namespace is not empty.
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

// ReadFromEtcd tells whether kube-apiserver keeps no watch cache of the resource and reads it from etcd: its limit then
// counts at resourceVersion 0, and its watches get no bookmarks but the one after initial events (semantics 2.1, 4.1).
func (r Resource) ReadFromEtcd() bool {
	return r.GVR.Resource == "events" && (r.GVR.Group == "" || r.GVR.Group == "events.k8s.io")
}
