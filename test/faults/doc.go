// Package faults does to a facade, to its clients, and to the kube-apiservers and etcds behind it what happens to such:
// they are killed, paused, compacted, fall behind, answer with garbage, do not read. What a client may notice is what
// docs/divergences.md says, and nothing else.
//
// Tests that stop something of the cluster start one of their own; the others share one.
package faults
