// Package lists compares long lists of kube-apiserver and of a facade in front of it: in every representation,
// compressed, with continue tokens, while objects change, by many concurrent clients, and by programs in other
// languages.
//
// The tests share one cluster. No other package uses this cluster, because the tests write many objects.
package lists
