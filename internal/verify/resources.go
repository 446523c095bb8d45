package verify

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// resource is one to compare.
type resource struct {
	schema.GroupVersionResource
}

// path is that of its collection, of all namespaces.
func (r resource) path() string {
	if r.Group == "" {
		return "/api/" + r.Version + "/" + r.Resource
	}
	return "/apis/" + r.Group + "/" + r.Version + "/" + r.Resource
}

func (r resource) isSecret() bool { return r.Group == "" && r.Resource == "secrets" }

// discovered are the resources of the names, or all that can be listed and watched, in the versions that the server
// prefers. What of the server's groups cannot be read is the second error; the rest is there.
func discovered(config *rest.Config, names []string) (all []resource, incomplete, err error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	lists, err := discovery.ServerPreferredResources(client)
	if discovery.IsGroupDiscoveryFailedError(err) {
		incomplete, err = err, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			return nil, nil, fmt.Errorf("read what the server serves: %w", err)
		}
		for _, r := range l.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") && !strings.Contains(r.Name, "/") {
				all = append(all, resource{gv.WithResource(r.Name)})
			}
		}
	}
	if len(names) > 0 {
		all, err = named(all, names)
	}
	slices.SortStableFunc(all, func(a, b resource) int {
		return strings.Compare(a.GroupResource().String(), b.GroupResource().String())
	})
	return all, incomplete, err
}

// named are those of the resources that have these names: with the group, or without where only one group has it.
func named(all []resource, names []string) ([]resource, error) {
	var chosen []resource
	for _, name := range names {
		var found []resource
		for _, r := range all {
			if r.GroupResource().String() == name || r.Resource == name {
				found = append(found, r)
			}
		}
		if exact := slices.IndexFunc(found, func(r resource) bool { return r.GroupResource().String() == name }); exact >= 0 {
			found = found[exact : exact+1]
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("%q is the name of %d resources that can be listed and watched", name, len(found))
		}
		chosen = append(chosen, found[0])
	}
	return chosen, nil
}
