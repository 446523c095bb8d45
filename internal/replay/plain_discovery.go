package replay

import (
	"encoding/json"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// aggregated is the kind of the recorded discovery documents. A facade reads /api and /apis in this format.
const aggregated = "APIGroupDiscoveryList"

// plainDiscovery makes a discovery document of all groups, of a group, or of a group version from the aggregated
// document. It is for clients that do not accept aggregated discovery (KEP-3352). It returns nil if the aggregated
// document does not have the group or version.
func plainDiscovery(path string, document []byte) (any, error) {
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(document, &list); err != nil {
		return nil, err
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "api" {
		return coreDiscovery(parts[1:], &list), nil
	}
	groups := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for i := range list.Items {
		g := &list.Items[i]
		switch {
		case len(parts) == 1:
			groups.Groups = append(groups.Groups, groupOf(g))
		case g.Name != parts[1]:
		case len(parts) == 2:
			group := groupOf(g)
			group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			return &group, nil
		default:
			return resourcesOf(g, parts[2]), nil
		}
	}
	if len(parts) == 1 {
		return groups, nil
	}
	return nil, nil
}

func coreDiscovery(rest []string, list *apidiscoveryv2.APIGroupDiscoveryList) any {
	versions := &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{}}
	for i := range list.Items {
		if len(rest) == 1 {
			return resourcesOf(&list.Items[i], rest[0])
		}
		for _, v := range list.Items[i].Versions {
			versions.Versions = append(versions.Versions, v.Version)
		}
	}
	if len(rest) > 0 {
		return nil
	}
	return versions
}

func groupOf(g *apidiscoveryv2.APIGroupDiscovery) metav1.APIGroup {
	group := metav1.APIGroup{Name: g.Name}
	for _, v := range g.Versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{
			GroupVersion: g.Name + "/" + v.Version, Version: v.Version,
		})
	}
	if len(group.Versions) > 0 {
		group.PreferredVersion = group.Versions[0]
	}
	return group
}

func resourcesOf(g *apidiscoveryv2.APIGroupDiscovery, version string) any {
	for _, v := range g.Versions {
		if v.Version != version {
			continue
		}
		list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: strings.TrimPrefix(g.Name+"/"+version, "/"), APIResources: []metav1.APIResource{}}
		for i := range v.Resources {
			list.APIResources = append(list.APIResources, resourceWithSubresources(&v.Resources[i])...)
		}
		return list
	}
	return nil
}

// resourceWithSubresources returns a resource and its subresources. It omits those without a kind.
func resourceWithSubresources(r *apidiscoveryv2.APIResourceDiscovery) (all []metav1.APIResource) {
	namespaced := r.Scope == apidiscoveryv2.ScopeNamespace
	if kind := r.ResponseKind; kind != nil && kind.Kind != "" {
		all = append(all, metav1.APIResource{
			Name: r.Resource, SingularName: r.SingularResource, Namespaced: namespaced, Kind: kind.Kind, Verbs: r.Verbs,
			ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	for _, sub := range r.Subresources {
		if kind := sub.ResponseKind; kind != nil && kind.Kind != "" {
			all = append(all, metav1.APIResource{Name: r.Resource + "/" + sub.Subresource, Namespaced: namespaced,
				Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Verbs: sub.Verbs})
		}
	}
	return all
}
