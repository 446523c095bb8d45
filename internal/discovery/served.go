package discovery

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Served contains the groups of a server.
type Served struct {
	Groups []Group
	// Failed contains one error for each version that could not be read.
	Failed []error
}

// Incomplete returns the joined errors of all versions that could not be read, or nil if all versions were read.
func (s *Served) Incomplete() error { return errors.Join(s.Failed...) }

// Group is a group with the versions that could be read, in the server's order of preference.
type Group struct {
	Name     string
	Versions []Version
}

// Version is a version of a group with its resources and their subresources, for example "pods/status".
type Version struct {
	schema.GroupVersion
	Resources []Resource
}

// Resource is a resource or subresource, with those fields of an APIResource that the facade uses.
type Resource struct {
	Name         string   `json:"name"`
	SingularName string   `json:"singularName"`
	ShortNames   []string `json:"shortNames"`
	Kind         string   `json:"kind"`
	Namespaced   bool     `json:"namespaced"`
	Verbs        []string `json:"verbs"`
}

// Preferred returns the group's resources without subresources, each in the first version that contains it.
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
