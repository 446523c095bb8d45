// Package kubelet has a kubelet for tests: the server that kube-apiserver connects to for logs, exec, attach and
// port-forward. The pods are those of a Node whose pods kwok starts. The test runs their commands.
//
// Start owns the server's goroutines, which end with the test.
package kubelet
