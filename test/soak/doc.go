// Package soak injects faults into the kube-apiserver and etcd behind a facade, in random order and for a given time.
// Meanwhile a hundred clients watch ten kinds through the facade, and twenty read objects that were just written. No
// client may miss an event, receive one twice, or read stale data. A watch may notice a fault only if
// docs/divergences.md allows this. At the end no goroutine remains.
//
// The only test starts its own cluster, and needs its own process because it counts all goroutines. LISTFACADE_SEED
// selects the faults, their order and their durations. LISTFACADE_SOAK is the duration of the test.
// LISTFACADE_SOAK_FAULTS restricts the faults to a list of names, separated by commas.
package soak
