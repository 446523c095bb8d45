// Package divergence compares the objects of a lane or a facade (the local side) with the objects of its upstream, at
// one resourceVersion. It reports missing and surplus objects, and objects with different resourceVersions or bytes.
//
// Both sides are read once, in the order of their keys, and objects are not kept. The reported texts are short and
// printable, whatever the objects contain.
//
// The package starts no goroutine that outlives a call, and sends no requests. internal/reflector compares a lane with
// the upstream (self-audit). internal/verify compares a facade with kube-apiserver.
package divergence
