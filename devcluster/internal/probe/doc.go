// Package probe sends requests to HTTPS servers with the certificates of a development cluster, mainly readiness
// checks.
//
// A Client trusts only the given authority. A Get waits at most a few seconds for its response, a Post at most a
// minute. The package starts no goroutine.
package probe
