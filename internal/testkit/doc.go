// Package testkit is what the tests share: a handle on a real cluster, the oracle that asks kube-apiserver and the
// facade the same question, and the checkers of what watches and reads promise. It is imported by tests only.
// Below it, settings is what the environment tells tests, and suite what stands on a facade as well.
//
// A Cluster is a process of its own (the devcluster module) that dies with the test; the handle owns the goroutine that
// collects its messages, and Close waits for it.
package testkit
