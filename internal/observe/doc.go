// Package observe describes requests to their observers. Each request has one Event, and Observers receive it at each
// stage of the request. internal/metrics counts requests, internal/oplog logs them, internal/accounting sums the costs
// of clients, and internal/audit writes the audit log.
//
// The package starts no goroutine and imports no other package of this module. An Event belongs to the goroutine of its
// request until the request ends. That goroutine passes it to the Observers one after the other, and they keep no
// reference to it. While the request runs, other goroutines read only its Progress, and the fields of the Event that
// Progress marks as settled (complete). They find the Progress in the Inflight of the server. So operators see open
// requests, and internal/accounting counts long-running requests before they end.
package observe
