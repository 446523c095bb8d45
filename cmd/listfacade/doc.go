// Command listfacade serves reads of the Kubernetes API from a cache in front of one kube-apiserver.
//
// It is flags and nothing else: they fill a facade.Config, and internal/facade does what that says. Its subcommand top
// is internal/top's.
package main
