// Package identities asks kube-apiserver and a facade in front of it the same in many names: who may not read a thing
// is refused by both in the same words, and who may is answered alike. What only others may see is never in an answer.
//
// The tests share one cluster. The tests of a threat are called by its number, Test01 and so on; TestNumbers holds that
// none is missing.
package identities
