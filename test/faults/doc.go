// Package faults injects faults into facades, their clients, and the kube-apiservers and etcds behind them. Processes
// are killed or paused, etcd is compacted, replicas lag, servers send garbage, clients do not read. A client may notice
// only the differences that docs/divergences.md lists.
//
// Tests that stop a part of the cluster start their own. The others share one.
package faults
