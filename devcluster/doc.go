// Package devcluster runs a real Kubernetes control plane on the loopback address: etcd and kube-apiserver. It can add
// kube-controller-manager, kube-scheduler and kwok, which simulates nodes on which pods become Running.
//
// Start returns when the cluster is ready and its users have their permissions. Every cluster has its own ports, files
// and certificates, so many clusters can run at the same time. Close ends every process, and removes the directory if
// Start created it (see Keep). On Linux, the kernel also ends the processes when the parent process dies.
//
// A Cluster owns its processes, the goroutines that start them and wait for them (see internal/process), and the
// goroutine that serves its control socket. Close waits for all of them.
//
// The package does not restart servers: Failed reports a server that exits unexpectedly. It imports nothing of the
// facade, and the facade imports nothing of it. They are connected only by the command cmd/devcluster, files, and HTTP.
package devcluster
