// Package audit asks kube-apiserver and a facade in front of it the same, and compares what they write into their audit
// logs by the same policy: every field but ids, times and latencies. What differs stands in docs/divergences.md.
//
// The tests have a cluster of their own, whose kube-apiserver writes an audit log.
package audit
