// Package dataset makes the pods that the benchmarks list: as large as real ones, as different from each other, and the
// same bytes on every machine.
//
// How different they are decides what a compressed list costs. Lists of real pods shrink to a fifth or a seventh under
// gzip at level 1; copies of one pod shrink to a twentieth and make every figure look too good. So a few hundred
// applications are derived first, each with its own names, labels, images, settings and owner, and every pod adds what
// is its own: name, UID, node, addresses, container ids, timestamps. CheckRatio measures the result and refuses it
// outside of that range.
//
// The pods are valid: kube-apiserver accepts updates of them. Everything follows from Spec, without clock or
// environment. The package starts no goroutine.
package dataset
