package journal

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GVR parses Identity.Resource, which is the text of a schema.GroupVersionResource: "apps/v1, Resource=deployments".
func (i *Identity) GVR() (schema.GroupVersionResource, error) {
	version, resource, ok := strings.Cut(i.Resource, ", Resource=")
	group, version, both := strings.Cut(version, "/")
	if !ok || !both {
		return schema.GroupVersionResource{}, fmt.Errorf("invalid resource %q", i.Resource)
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, nil
}
