// Command listfacade serves reads of the Kubernetes API from a cache in front of one kube-apiserver.
//
// It is flags and a file that says the same, and nothing else: they fill a facade.Config, and internal/facade does what
// that says, or with the subcommand check tells what it would do. The subcommand top is internal/top's, and
// verify internal/verify's.
package main
