package client

import (
	"path"
	"strings"
)

// destination says where a read goes.
type destination int

const (
	direct      destination = iota // kube-apiserver
	facadeOnly                     // the facade; the response is large, or lasts long
	facadeFirst                    // the facade, or kube-apiserver if the facade cannot answer; the response is small
)

// destinationOf returns where a GET of a path goes. An ambiguous path, such as one with "..", goes to kube-apiserver.
func destinationOf(requested string) destination {
	if clean := strings.TrimSuffix(requested, "/"); path.Clean(clean) != clean {
		return direct
	}
	parts := strings.Split(strings.Trim(requested, "/"), "/")
	switch parts[0] {
	case "version", "openapi":
		return facadeFirst
	case "api":
		return destinationIn("", parts[1:])
	case "apis":
		if len(parts) == 1 {
			return facadeFirst
		}
		return destinationIn(parts[1], parts[2:])
	default:
		return direct
	}
}

// destinationIn returns where a GET of a path in a group goes. The parts are the rest of the path: the version,
// optionally a namespace, the resource, and optionally a name and a subresource.
func destinationIn(group string, parts []string) destination {
	if group == "metrics.k8s.io" || strings.HasSuffix(group, ".metrics.k8s.io") {
		return direct // a metrics adapter answers, and the values change all the time
	}
	if len(parts) < 2 {
		return facadeFirst // discovery
	}
	parts = parts[1:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		if parts[2] == "status" || parts[2] == "finalize" { // subresources of a Namespace
			return direct
		}
		parts = parts[2:]
	}
	switch resource := parts[0]; {
	case resource == "watch" || resource == "proxy": // kube-apiserver's old paths
		return direct
	case group == "" && resource == "secrets", group == "coordination.k8s.io" && resource == "leases":
		return direct
	case len(parts) == 1:
		return facadeOnly
	case len(parts) == 2:
		return facadeFirst
	default:
		return direct
	}
}
