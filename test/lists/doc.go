// Package lists compares long lists of kube-apiserver and of a facade in front of it: in every representation, with
// compression, page by page, while objects change, by many concurrent clients, and by programs in several languages.
//
// The tests share one cluster. No other package uses it, because the tests write many objects.
package lists
