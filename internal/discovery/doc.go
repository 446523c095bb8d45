// Package discovery reads the groups of a server from /api and /apis: their versions in the server's order of
// preference, and the resources of each version. It needs two requests for aggregated discovery (KEP-3352). For a
// server without it (before 1.26) it sends one request for each version.
//
// A version that cannot be read does not affect the others. The caller sends the requests (Ask). The package has no
// goroutine after Read has returned, and caches nothing. It replaces client-go's discovery, which would link all types
// of Kubernetes and OpenAPI into the program (ADR 25). Tests compare the two.
package discovery
