// Package kubelet has a kubelet for tests: the server that kube-apiserver connects to for logs, exec, attach and
// port-forward. kwok starts the pods of the kubelet's Node. The test runs the commands in these pods.
//
// Start owns the server's goroutines, which end with the test.
package kubelet
