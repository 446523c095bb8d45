// Command listfacade serves reads of the Kubernetes API from a cache in front of one kube-apiserver.
//
// It holds flags, wiring, and the order of starting and stopping; what the parts do stands in their own packages.
package main
