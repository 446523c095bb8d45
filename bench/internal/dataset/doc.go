// Package dataset generates the pods of the benchmarks. They have the size and variety of real pods, and the same bytes
// on every machine.
//
// The variety of pods decides the cost of a compressed list. gzip at level 1 shrinks lists of real pods to between a
// fifth and a seventh. Copies of one pod shrink to a twentieth, which would make every figure look too good. The
// package therefore generates a few hundred applications first, each with its own names, labels, images, settings and
// owner. Every pod adds its own name, UID, node, addresses, container IDs and timestamps. CheckRatio rejects a data set
// that shrinks more or less than real pods.
//
// The pods are valid: kube-apiserver accepts updates of them. They depend only on Spec, not on the clock or the
// environment. The package starts no goroutine.
package dataset
