// Package simulated is a kube-apiserver that has nothing but pods, as many as are asked for: each is made from its
// number when it is sent, so that a million of them, 15 GB, take no more memory here than what they have in common. The
// pods are those of bench/internal/dataset: 400 in a namespace, 100 on a node, about 67 of an application, which are
// alike but for names, addresses, times and ids.
//
// It answers what the facade asks: discovery, pages of lists and of Tables without objects, watches, probes, and
// reviews of its own rights, all of which are allowed. Anything else is not found. What it sends is what kube-apiserver
// 1.37 sends, byte for byte but for the values. Pods change when it is told to (Updates).
//
// Goroutines: those of net/http, and one that ends the server with its standard input.
package simulated
