package suite

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Patience is how long a test of a suite waits for a condition (settings.Patience).
var Patience = settings.Patience()

// The resources that suites write. Gadgets are custom resources (Fixture.DefineGadgets).
var (
	ConfigMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	Pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	Accounts   = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	Events     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	Namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	Gadgets    = schema.GroupVersionResource{Group: "watch.example.com", Version: "v1", Resource: "gadgets"}
	CRDs       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
)

// Collection returns the path of a collection. An empty namespace means all namespaces.
func Collection(gvr schema.GroupVersionResource, namespace string) string {
	path := "/apis/" + gvr.Group + "/" + gvr.Version
	if gvr.Group == "" {
		path = "/api/" + gvr.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + gvr.Resource
}

// RVOf parses a resourceVersion.
func RVOf(t testing.TB, s string) uint64 {
	t.Helper()
	rv, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return rv
}
