// Package ports reserves TCP ports of the loopback address for servers that bind them later, and again after a restart.
//
// Two processes of the same user that use this package never reserve the same port at the same time. A file lock
// protects each port, and the kernel releases it when the process dies. The ports are below the ranges from which Linux
// and macOS take the source ports of outgoing connections. A connection therefore cannot take the port of a server that
// is not running. The package starts no goroutine. It skips a port that is in use by another server, but cannot protect
// its ports from servers that do not use the package.
package ports
