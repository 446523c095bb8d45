// Package split runs real clients through the proxy of "listfacade split". Only the address in their configuration
// changes. The clients are kubectl with all verbs, kube-controller-manager and kube-scheduler with leader election, a
// client in Python, kube-state-metrics, the discovery of Prometheus, and a manager of controller-runtime. For logs and
// exec, the test has its own kubelet.
//
// Counting servers stand in front of the facade and of kube-apiserver. They check that no write reaches the facade, and
// that no list or watch of a cached resource reaches kube-apiserver. The tests share one cluster.
package split
