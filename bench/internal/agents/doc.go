// Package agents simulates the clients of many nodes: thousands of connections with many watches each. A benchmark runs
// on the same processors as the measured server, so the clients must cost little. The package therefore reads and
// writes HTTP/2 frames itself, with one goroutine for a connection instead of several for each watch. It reads only the
// types, resourceVersions and times of events.
//
// The package promises:
//   - A watch lists first if it has no resourceVersion, or if its resourceVersion has expired (410).
//   - After a refusal it waits for the time in Retry-After, as client-go does.
//   - When its connection ends, it continues from the last event or bookmark that it received completely.
//
// Goroutines: a Fleet has one for each connection. Close ends them and waits for them. Timers send refused requests
// again; they do nothing after the connection has ended.
package agents
