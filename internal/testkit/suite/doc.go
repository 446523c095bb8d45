// Package suite contains the helpers of the suites below test/: a cluster that the tests of a package share, facades in
// the test's process that are wired as in the command, namespaces to write objects in, pairs of watches on both
// servers, and clients.
//
// Everything that the package starts for a test ends with the test, before the shared cluster ends. A Facade owns the
// goroutine that serves, and Close waits for it. The first test that needs the shared cluster starts it, and Main ends
// it. A test that stops or pauses a cluster must start its own cluster.
package suite
