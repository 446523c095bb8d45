// Package observe records the facade's work. Each request has one Event, and Observers receive it at each stage of the
// request. All metrics of the facade are defined and registered here, and nowhere else.
//
// Other packages declare small interfaces that they report to, and the types here implement them. Labels of metrics
// come from closed sets: verbs, resources in discovery, status codes and reasons. A client's text is never a label,
// because clients must not be able to add series. A metric that means the same as in kube-apiserver has
// kube-apiserver's name, labels and buckets, with the component listfacade. All other names begin with listfacade_.
//
// The package starts no goroutine and imports no other package of this module. An Event belongs to the goroutine of its
// request until the request ends. That goroutine passes it to the Observers one after the other, and they keep no
// reference to it. While the request runs, other goroutines read only its Progress, and the fields of the Event that
// Progress marks as settled (complete). They find the Progress in the Inflight of the server. In this way operators see
// open requests, and long-running requests are accounted before they end.
//
// For the operator's page, SlowLog keeps the last slow requests, and History keeps statistics of the last 15 minutes.
// Their memory is constant.
package observe
