package discovery

import (
	"encoding/json"
	"fmt"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// addAggregated adds the groups of an APIGroupDiscoveryList of v2 or v2beta1. Both versions have the same fields.
func (s *Served) addAggregated(body []byte) error {
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(body, &list); err != nil {
		return err
	}
	for _, g := range list.Items {
		group := Group{Name: g.Name}
		for _, v := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: v.Version}
			// Stale means that the aggregated API server does not respond. The listed resources may then be outdated.
			if v.Freshness == apidiscoveryv2.DiscoveryFreshnessStale {
				s.Failed = append(s.Failed, fmt.Errorf("read %s: aggregated API server does not respond", gv))
				continue
			}
			group.Versions = append(group.Versions, Version{GroupVersion: gv, Resources: flatten(v.Resources)})
		}
		s.Groups = append(s.Groups, group)
	}
	return nil
}

// flatten returns the resources, each followed by its subresources. It omits resources and subresources without a kind,
// as client-go does.
func flatten(described []apidiscoveryv2.APIResourceDiscovery) []Resource {
	var all []Resource
	for _, d := range described {
		namespaced := d.Scope == apidiscoveryv2.ScopeNamespace
		if known(d.ResponseKind) {
			all = append(all, Resource{
				Name: d.Resource, SingularName: d.SingularResource, ShortNames: d.ShortNames, Kind: d.ResponseKind.Kind,
				Namespaced: namespaced, Verbs: d.Verbs,
			})
		}
		for _, sub := range d.Subresources {
			if known(sub.ResponseKind) {
				all = append(all, Resource{
					Name: d.Resource + "/" + sub.Subresource, SingularName: d.SingularResource, Kind: sub.ResponseKind.Kind,
					Namespaced: namespaced, Verbs: sub.Verbs,
				})
			}
		}
	}
	return all
}

func known(kind *metav1.GroupVersionKind) bool {
	return kind != nil && *kind != (metav1.GroupVersionKind{})
}
