// Package identities sends requests in the names of many users, each to kube-apiserver and to a facade in front of it.
// Both must authenticate, allow and refuse alike, in the same words. No answer contains an object that the user may not
// read.
//
// The tests share one cluster. SECURITY.md lists the attacks that these and other tests try.
package identities
