// Package moved runs programs that are moved from kube-apiserver to a facade. Programs that are separate modules are
// below test/clients.
//
// The tests share one cluster with controllers.
package moved
