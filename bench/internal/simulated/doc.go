// Package simulated is a kube-apiserver with any number of pods and no other objects. It generates each pod from its
// number when it sends the pod. Therefore a million pods (15 GB) need little memory. The pods are those of
// bench/internal/dataset: 400 in a namespace, by default 100 on a node, and about 67 of an application. Pods of one
// application differ only in names, addresses, times and IDs.
//
// It supports the requests of the facade: discovery, pages of lists and of Tables without objects, watches, one pod at
// an older version, probes, and reviews. Lists and watches of pods are in JSON or protobuf. Every token is valid and is
// the name of its user. Every request is allowed. The server refuses all other requests with a Status. Its bodies
// have the bytes of kube-apiserver 1.37 except for the values. A POST to UpdatesPath changes pods.
//
// Goroutines: those of net/http, and one that ends the server when its standard input ends.
package simulated
