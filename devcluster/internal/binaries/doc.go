// Package binaries compiles the programs of a development cluster from their Go modules, once.
//
// The versions are those of this module's go.mod. Its servers are one binary (cmd/controlplane) under several names,
// and kubectl is another. The servers of an older release of Kubernetes have a module of their own, in the directory
// releases, and a binary each. Binaries are kept in a directory of the user's cache whose name is a hash of everything
// that decides what comes out (sources, go.mod, go.sum, linker flags, the Go release, the platform), so a cached binary
// is never stale. A binary appears under its name complete or not at all, and a file lock makes the second of two
// builds wait for the first.
//
// Build runs the go command and, while it lasts, one goroutine that reads its output; both end before Build returns.
package binaries
