// Package assess implements "listfacade assess": it shows the cost of each client at a kube-apiserver, the clients that
// a facade can serve, and the cost that it would save.
//
// An audit log says which clients send which requests (internal/assess/auditlog). The log has no sizes of responses.
// Lists are priced by the number and size of objects in kube-apiserver's metrics, and by their duration. The number of
// watch events is estimated from the writes in the log. internal/price has the CPU per object, byte and event. Without
// a log, the package finds the clients in repeated dumps of the requests in flight.
//
// The package promises:
//   - Each request counts once, when it ends. A watch also counts by the time for which it was open.
//   - Each estimate has a range, because no log contains the encoding, the compression and the objects that a selector
//     matches, and because machines differ.
//   - Memory is bounded, whatever the log contains. At most 16,384 kinds of requests (uses) are kept. Cheaper kinds
//     only count in sums, which keep the exact number of requests.
//   - Texts that clients sent are made printable before they are reported.
//   - kube-apiserver receives only GETs of its metrics and of the dump of requests, one a second.
//
// Run owns the goroutines of the progress bar and of internal/assess/auditlog. All end before Run returns.
//
// The package writes nothing to a cluster, and does not use a facade.
package assess
