// Package observe describes requests to their observers. Each request has one Event, and Observers receive it at each
// stage of the request. internal/metrics counts requests, internal/oplog logs them, internal/accounting sums the costs
// of clients, and internal/audit writes the audit log.
//
// The package starts no goroutine and imports no other package of this module. An Event belongs to the goroutine of its
// request, which calls the Observers. Only Lagging is called by another goroutine, while the request waits for its
// client. Other goroutines find the Progress of a request in flight in the Inflight of the server. They may read only
// the fields of the Event that no longer change (see phase).
package observe
