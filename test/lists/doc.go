// Package lists compares long lists of kube-apiserver and of a facade in front of it: in every representation, with
// compression, page by page, while objects change, by many concurrent clients, and by programs in several languages.
//
// The tests share one cluster. It is separate from other packages because they write many objects.
package lists
