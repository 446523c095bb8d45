// Package facade creates and connects the parts of the process, starts them, and stops them in order. The parts
// themselves are in other packages.
//
// New starts no goroutine. Serve returns when every goroutine that it started has ended. Only writes to the journal and
// the audit log may continue, if the disk hangs.
//
// The start has this order:
//  1. The lanes and the upstream's endpoints, because requests need lanes.
//  2. The preload, the listener and all other parts.
//
// When the context ends, the shutdown has this order:
//  1. Readiness fails. Requests are served for Config.ShutdownDelay.
//  2. Watches end one by one, over Config.WatchTermination.
//  3. Other requests finish, for at most Config.ShutdownGrace more. Then their connections are closed. Their handlers
//     have five seconds to return.
//  4. The lanes, the audit log and the debug socket stop.
//  5. Idle connections to the upstream and to peers are closed.
//
// When a part fails, the shutdown is the same, but without Config.ShutdownDelay.
//
// Serve owns a goroutine for each of these:
//   - the lanes, and the watch of APIServices
//   - the upstream's endpoints, if there are several
//   - the memory budget
//   - the accounting of clients
//   - the preload
//   - authentication and authorization
//   - the reload or renewal of the serving certificate
//   - the HTTP servers of the API and of the debug socket
//   - the audit log, if there is one
//   - the documents of the journal, if there is one
//   - the shutdown
//
// The servers own the goroutines of connections. Run owns another goroutine, which adjusts the garbage collector
// (garbage.go).
//
// This package collects the content of the operator's page when the page is requested (status.go).
//
// With Config.SharedAuthority, Run writes two objects before it serves: it fills an empty Secret with a new authority,
// and a ConfigMap with the authority's certificate. Nothing else in the process changes an object.
//
// The package reads no flags. It reads the environment only for GOGC and, without a kubeconfig, for the service
// account. Run sets Go's memory limit (GOMEMLIMIT) and the logger of the Kubernetes libraries. Facades in one process
// share these, and the count of unpacked bytes (wire.OpenBytes). The package never restarts a part that has failed.
package facade
