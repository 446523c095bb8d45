// Package chains tests facades that read from facades: a chain of three, and ten that read from the same facade. It
// checks the reads from the last facade, the identities of callers there, and the requests that kube-apiserver
// receives. Other tests start a facade from the cache of a peer (--warm-from), also of a peer with wrong data.
// test/questions and test/watches check that a chain answers as kube-apiserver does.
//
// The tests share one cluster. Each test has its own namespace.
package chains
