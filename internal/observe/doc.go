// Package observe holds what is known of the facade's work, and who is told: one Event a request, and the sinks that it
// ends in. Every metric of the facade is defined and registered here, and nowhere else.
//
// Other packages declare the small interface that they report to; the types here implement them. Labels of metrics come
// from closed sets (verbs, resources that discovery named, status codes, reasons), never from a client's text, so that
// no client can grow the number of series. What means the same as in kube-apiserver has its name, its labels and its
// buckets, with the component listfacade; the rest begins with listfacade_.
//
// The package starts no goroutine and imports nothing else of this module. An Event belongs to the goroutine of its
// request until the request is over; then the sinks read it, one after the other, and keep nothing of it. Meanwhile
// others see the request's Progress, which is in the Inflight of its server, and of the Event what Progress says is
// settled: operators are shown what is open, and what it takes is counted before it ends.
// Beside the metrics, the last of what was slow (SlowLog) and of what happened (History) are kept, for the operator's
// page, in as much memory whatever happens.
// Metrics are told of requests that are under way, too: of those that run long nothing else would be known for half an
// hour. Those that are Followers are told on the way, too.
package observe
