package handlers

import "net/url"

// listParameters are those of a list or watch (metav1.ListOptions), each with whether the cache honours it. A request
// with a parameter that the cache does not honour is forwarded: the upstream may honour it, as it does shardSelector
// with an alpha feature (KEP-5866), and then a page of the cache would be one of another list.
var listParameters = map[string]bool{
	"labelSelector":        true,
	"fieldSelector":        true,
	"watch":                true,
	"allowWatchBookmarks":  true,
	"resourceVersion":      true,
	"resourceVersionMatch": true,
	"timeoutSeconds":       true,
	"limit":                true,
	"continue":             true,
	"sendInitialEvents":    true,
	"shardSelector":        false,
}

// hasUnserved reports whether a list or watch has a parameter that the cache does not honour. Of a parameter that is
// there more than once the first counts, as for kube-apiserver.
func hasUnserved(query url.Values) bool {
	for name, served := range listParameters {
		if !served && query.Get(name) != "" {
			return true
		}
	}
	return false
}
