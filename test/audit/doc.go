// Package audit sends the same requests to kube-apiserver and to a facade with the same audit policy, and compares
// their audit logs: every field except IDs, times and latencies. docs/divergences.md lists the differences.
//
// The tests use their own cluster, whose kube-apiserver writes an audit log.
package audit
