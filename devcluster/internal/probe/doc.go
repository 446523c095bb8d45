// Package probe sends requests, mainly readiness checks, to the HTTPS servers of a development cluster.
//
// A Client trusts only the given authority. A Get waits at most a few seconds for its response, a Post at most a
// minute. The package starts no goroutine.
package probe
