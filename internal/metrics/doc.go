// Package metrics defines and registers all metrics of the facade and of the splitting proxy. No other package of this
// module registers metrics.
//
// Other packages declare small interfaces that they report to, and Metrics implements them. Labels come from closed
// sets, such as verbs, resources in discovery, status codes and reasons. A client's text is never a label, because
// clients must not be able to add series. A metric that means the same as in kube-apiserver has kube-apiserver's name
// and labels. Where kube-apiserver has the label component, the facade sets it to listfacade. The facade's own metrics
// begin with listfacade_.
//
// No goroutine of the package outlives a call, and the package keeps no reference to an observe.Event.
package metrics
