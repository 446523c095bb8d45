// Package moved runs programs that are moved from kube-apiserver to a facade as docs/clients.md says. The commands and
// files are those of docs/clients.md. Programs that are separate modules are below test/clients.
//
// The tests share one cluster with controllers.
package moved
