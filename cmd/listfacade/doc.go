// Command listfacade serves reads of the Kubernetes API from a cache in front of the kube-apiservers of one cluster.
//
// The package parses command-line flags and a configuration file into a facade.Config, and passes it to
// internal/facade. The subcommand check tests that Config, prints the result and exits. The subcommands split, replay,
// top, verify and assess are in the packages of these names below internal. diff and log are in internal/timeline.
//
// Under the name kubectl-listfacade, the program is a plugin of kubectl. The plugin serves nothing, and has fewer
// subcommands.
package main
