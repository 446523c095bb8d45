// Package devcluster runs a real Kubernetes control plane on the loopback address: etcd and kube-apiserver, and if
// asked for kube-controller-manager, kube-scheduler and kwok, which simulates nodes on which pods become Running.
//
// It promises that a cluster which Start returned is ready, its users' rights included; that every port, file and
// certificate is its own, so that many clusters run side by side; and that nothing outlives it: Close ends every
// process and removes the directory, and on Linux the kernel ends the processes when this one dies in any way.
//
// A Cluster owns its processes, the goroutines that wait for them (see internal/process), and the goroutine that serves
// its control socket; Close waits for all of them.
//
// It does not supervise: a server that dies is reported by Failed, never restarted. It imports nothing of the facade
// and nothing of the facade imports it; the two meet through the command cmd/devcluster, files, and HTTP.
package devcluster
