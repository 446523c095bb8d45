// Package suite is what the suites below test/ stand on: a cluster that a package's tests share, facades that run in
// the test's process as the command wires them, namespaces with hands to write in, the same watch on both servers, and
// clients.
//
// What it starts for a test ends with the test, before the shared cluster does; a Facade owns the goroutine that
// serves, and Close waits for it. The shared cluster is started by the first test that asks for it and ended by Main.
// Nothing here is stopped or paused that another test may use: a test that does that starts a cluster of its own.
package suite
