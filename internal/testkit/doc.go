// Package testkit is what the tests share: a handle on a real cluster, the oracle that asks kube-apiserver and the
// facade the same question, and the checkers of what watches and reads promise. It is imported by tests only.
//
// A Cluster is a process of its own (the devcluster module) that dies with the test; the handle owns the goroutine that
// collects its messages, and Close waits for it.
package testkit
