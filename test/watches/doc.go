// Package watches opens the same watches on kube-apiserver and on a facade in front of it while objects change, and
// compares what they tell; whatever a facade alone tells is held against what kube-apiserver's own watch of everything
// told.
//
// The tests share one cluster, in which each has a namespace of its own. Workloads have a cluster without controllers,
// so that nobody but their scripts writes what they watch.
package watches
