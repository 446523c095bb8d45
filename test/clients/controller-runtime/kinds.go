package main

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// kindsOf returns the kinds that the server lists and watches, each in its preferred version. Argo CD finds the kinds
// of its cache in the same way.
func kindsOf(config *rest.Config, client *http.Client) ([]schema.GroupVersionKind, error) {
	documents, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	lists, err := documents.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	var all []schema.GroupVersionKind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			all = append(all, version.WithKind(resource.Kind))
		}
	}
	return all, nil
}
