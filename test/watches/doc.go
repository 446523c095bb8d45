// Package watches opens the same watches on kube-apiserver and on a facade in front of it while objects change, and
// compares the events. It also opens watches on the facade alone, and checks them against kube-apiserver's watch of all
// objects.
//
// The tests share one cluster. Each test has its own namespace. Scripted workloads have another cluster without
// controllers, in which only the scripts write the watched objects.
package watches
