// Package binaries compiles the programs of a development cluster from their Go modules, and caches them.
//
// This module's go.mod has the versions of the programs. The servers are one binary (cmd/controlplane) with several
// names, and kubectl is another binary. With Optimized, kube-apiserver is also a separate binary. The servers of an
// older release of Kubernetes have their own module in the directory releases, and one binary each.
//
// Build stores binaries in a subdirectory of the cache directory. The name of the subdirectory is a hash of all inputs:
// sources, go.mod, go.sum, flags, the Go release and the platform. A cached binary is therefore never stale. Build
// gives a binary its final name when the binary is complete. A file lock lets a second build wait for the first one.
//
// Build runs the go command, and a goroutine that waits for it. Both end before Build returns.
package binaries
