// Package facade makes one process of the parts: it wires them, starts them and stops them in order. What a part does
// stands in its own package.
//
// It promises that New starts nothing, that Serve returns when everything that it started has ended, and this order. On
// the way up: the reading of the upstream, so that nobody is served before a lane can be opened; then the preload and
// the listener. On the way down, when the context ends: readiness says no, and all is served for Config.ShutdownDelay;
// watches end, one by one over Config.WatchTermination; requests finish, at most for Config.ShutdownGrace more, and
// those that are cut off then have some seconds to end; lanes and the audit log stop; then idle connections to the
// upstream and to peers are closed. When a part fails, the same without the delay.
//
// Serve owns a goroutine for each of these: the lanes, the upstream's endpoints where it has several, the memory
// budget, the count of what clients take, the preload, the reading of the serving certificate, the HTTP server, that of
// the debug socket, the audit log, and the one that waits for the end and drains. Connections are the servers'. Run
// owns one beside it, which tells the collector how much garbage may lie (garbage.go).
//
// What the operator's page shows is gathered here (status.go), when somebody asks.
//
// It never reads flags or the environment, but for a service account's when it is told no kubeconfig; Run finds out how
// much memory there is, and tells the collector, which belongs to the whole process. It never retries what a part gave
// up, and it keeps no state between two facades of one process.
package facade
