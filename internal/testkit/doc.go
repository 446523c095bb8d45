// Package testkit contains the code that tests share: a handle of a real cluster, a fake upstream, and checkers of the
// guarantees of watches and reads. An Oracle sends the same request (Question) to kube-apiserver and to the facade, and
// compares the responses (Answer). Only tests and benchmarks import the package. Two subpackages belong to it:
// package settings reads the environment of tests, and package suite starts facades.
//
// A Cluster is a separate process (the devcluster module), which ends when the test process ends. Its handle owns the
// goroutine that collects the process's messages. Close waits for that goroutine.
package testkit
