// Package lists asks kube-apiserver and a facade in front of it for long lists, in every form and compressed, while
// objects change, page by page, by a herd of clients at once, and by programs in several languages.
//
// The tests share one cluster, of their own because of how much they write into it.
package lists
