package handlers

import "net/url"

// listParameters are the query parameters of a list or watch (metav1.ListOptions), and whether the cache supports them.
// A request with a parameter that the cache does not support is forwarded, because the upstream may support it. An
// example is shardSelector with an alpha feature (KEP-5866): pages of the cache would belong to a different list.
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

// hasUnserved reports whether a list or watch has a parameter that the cache does not support. If a parameter is
// repeated, its first value counts, as in kube-apiserver.
func hasUnserved(query url.Values) bool {
	for name, served := range listParameters {
		if !served && query.Get(name) != "" {
			return true
		}
	}
	return false
}
