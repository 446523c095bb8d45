// Package chains tests facades in front of facades: three in a row, of which each later one reads from the one before
// it, and ten that read from one. It checks the reads from the last facade, the identities of callers there, and the
// requests that kube-apiserver receives. Other tests start a facade from the cache of a peer (--warm-from), also of a
// peer with wrong data. test/questions and test/watches check that a chain answers as kube-apiserver does.
//
// The tests share one cluster. Each test has its own namespace.
package chains
