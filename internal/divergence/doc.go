// Package divergence compares the objects of a lane or a facade (the local side) with those of its upstream, at one
// resourceVersion. It reports missing and surplus objects, different versions and different bytes.
//
// Both sides are read once, in the order of their keys. Only differences are kept. The reported texts are short and
// printable, whatever the objects contain.
//
// The package starts no goroutine and sends no requests. internal/reflector compares a lane with the upstream
// (self-audit). internal/verify compares a facade with kube-apiserver.
package divergence
