// Package testkit contains the code that tests share: a handle of a real cluster, the oracle that sends the same
// request to kube-apiserver and to the facade, a fake upstream, and checkers of the guarantees of watches and reads.
// Only tests import it. Its subpackage settings reads the environment of tests, and suite starts facades.
//
// A Cluster is a separate process (the devcluster module), which ends when the test process ends. Its handle owns the
// goroutine that collects the process's messages. Close waits for that goroutine.
package testkit
