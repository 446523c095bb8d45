// Package observe records the facade's work. Each request has one Event, and Sinks receive it at the end of the
// request. All metrics of the facade are defined and registered here, and nowhere else.
//
// Other packages declare small interfaces that they report to, and the types here implement them. Labels of metrics
// come from closed sets: verbs, resources that discovery names, status codes and reasons. They never come from a
// client's text, which means that no client can add series. A metric that means the same as in kube-apiserver has
// kube-apiserver's name, labels and buckets, with the component listfacade. All other names begin with listfacade_.
//
// The package starts no goroutine and imports no other package of this module. An Event belongs to the goroutine of its
// request until the request ends. Then the sinks read it one after the other, and keep no reference to it. Before that,
// other goroutines read only the request's Progress and the fields of the Event that Progress marks as settled. They
// find the Progress in the Inflight of the server. Operators see open requests this way, and long-running requests are
// accounted before they end. Sinks that are Followers also receive a request while it is in flight.
//
// SlowLog keeps the last slow requests and History the last minutes, for the operator's page. Their memory is constant.
package observe
