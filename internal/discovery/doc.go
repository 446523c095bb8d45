// Package discovery reads the API groups of a server from /api and /apis. It returns their versions, in the server's
// order of preference, and the resources of each version. With aggregated discovery (KEP-3352), it sends two requests.
// Without aggregated discovery, for example before Kubernetes 1.26, it also requests each version separately.
//
// A version that cannot be read does not affect the others. The caller sends the requests (Ask). All goroutines of Read
// have ended when it returns. The package caches nothing. It replaces client-go's discovery, which would link all types
// of Kubernetes and OpenAPI into the program (ADR 25). Tests compare its results with client-go's.
package discovery
