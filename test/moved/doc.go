// Package moved runs programs that are moved from kube-apiserver to a facade as docs/clients.md says. Its commands and
// files are those of that document. Programs that are separate modules are below test/clients.
//
// The tests share one cluster with controllers.
package moved
