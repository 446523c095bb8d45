package journal

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestResourcesAreRead(t *testing.T) {
	for _, want := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "pods"}, {Group: "apps", Version: "v1", Resource: "deployments"},
	} {
		if got, err := (&Identity{Resource: want.String()}).GVR(); got != want || err != nil {
			t.Errorf("got %v and error %v, want %v", got, err, want)
		}
	}
	for _, text := range []string{"", "v1, Resource=pods", "/v1"} {
		if got, err := (&Identity{Resource: text}).GVR(); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
