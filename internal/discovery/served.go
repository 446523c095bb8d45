package discovery

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Served is what a server serves.
type Served struct {
	Groups []Group
	// Failed are the versions that could not be read, one error each.
	Failed []error
}

// Incomplete is nil when everything could be read.
func (s *Served) Incomplete() error { return errors.Join(s.Failed...) }

// Group is a group with the versions that could be read, those first that the server prefers.
type Group struct {
	Name     string
	Versions []Version
}

// Version is a version of a group with its resources, and their subresources as "pods/status".
type Version struct {
	schema.GroupVersion
	Resources []Resource
}

// Resource is a resource, or a subresource, as the APIResource of an APIResourceList has it.
type Resource struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Namespaced bool     `json:"namespaced"`
	Verbs      []string `json:"verbs"`
}

// Preferred are the group's resources without their subresources, each in the first version that has it.
func (g *Group) Preferred() []Version {
	seen := map[string]bool{}
	var preferred []Version
	for _, v := range g.Versions {
		of := Version{GroupVersion: v.GroupVersion}
		for _, r := range v.Resources {
			if !seen[r.Name] && !strings.Contains(r.Name, "/") {
				seen[r.Name] = true
				of.Resources = append(of.Resources, r)
			}
		}
		if len(of.Resources) > 0 {
			preferred = append(preferred, of)
		}
	}
	return preferred
}
