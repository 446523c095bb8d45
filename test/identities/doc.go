// Package identities sends the same requests as many users to kube-apiserver and to a facade in front of it. Both must
// authenticate, allow and refuse alike, in the same words. No answer contains an object that the user may not read.
//
// The tests share one cluster. SECURITY.md lists the attacks with their tests.
package identities
