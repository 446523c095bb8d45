package handlers

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/selectors"
)

// kube-apiserver has one index for each of two resources.
func TestIndexedUpstream(t *testing.T) {
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	for _, c := range []struct {
		resource schema.GroupResource
		fields   string
		want     bool
	}{
		{schema.GroupResource{Resource: "pods"}, "spec.nodeName=n1", true},
		{schema.GroupResource{Resource: "pods"}, "spec.nodeName=", true},
		{schema.GroupResource{Resource: "pods"}, "spec.nodeName=n1,status.phase=Running", true},
		{schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceslices"}, "spec.nodeName=n1", true},
		{schema.GroupResource{Resource: "pods"}, "spec.nodeName!=n1", false},
		{schema.GroupResource{Resource: "pods"}, "status.phase=Running", false},
		{schema.GroupResource{Group: "other.io", Resource: "pods"}, "spec.nodeName=n1", false},
	} {
		kind := selectors.ForBuiltin(pods, selectors.Namespaced)
		fields, err := selectors.ParseFields(c.fields)
		if err != nil {
			t.Fatal(err)
		}
		if got := indexedUpstream(c.resource, kind.Predicate("", nil, fields)); got != c.want {
			t.Errorf("%s by %q: got %t", c.resource, c.fields, got)
		}
	}
}
