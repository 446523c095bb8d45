// Package soak does to the kube-apiserver and the etcd behind a facade what happens to such, in random order and for as
// long as it is told, while a hundred clients watch ten kinds through the facade and twenty read what was just written.
// No client may miss anything, be told anything twice, or read anything stale; who watches is told of a fault only when
// docs/divergences.md says so; and in the end nothing is left running.
//
// Its one test starts a cluster, and has a process to itself: every goroutine in it is the test's. LISTFACADE_SEED
// chooses faults, their order and their lengths; LISTFACADE_SOAK, for how long; LISTFACADE_FAULTS, by their names with
// commas between them, some of them only.
package soak
