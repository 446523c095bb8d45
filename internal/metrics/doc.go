// Package metrics defines and registers all metrics of the facade. No other package uses Prometheus.
//
// Other packages declare small interfaces that they report to, and Metrics implements them. Labels come from closed
// sets: verbs, resources in discovery, status codes and reasons. A client's text is never a label, because clients must
// not be able to add series. A metric that means the same as in kube-apiserver has kube-apiserver's name, labels and
// buckets, with the component listfacade. All other names begin with listfacade_.
//
// The package starts no goroutine that lasts longer than a call, and keeps no reference to an Event.
package metrics
