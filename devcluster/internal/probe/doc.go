// Package probe asks HTTPS servers whether they are ready, with the certificates of a development cluster.
//
// A Client promises to trust nobody but the authority that it was given, and to wait no longer than a few seconds for
// one answer. It starts no goroutine of its own.
package probe
