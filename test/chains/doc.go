// Package chains puts facades in front of facades: three in a row, each with the next one's address in its kubeconfig,
// and ten behind one. It looks at what is read at the end of such a chain, at who callers are there, and at what
// kube-apiserver is asked. Others start from what a peer has, or from what a peer should not be believed. That the end
// answers as kube-apiserver does is in test/questions and test/watches, which ask it the questions that they ask a
// single facade.
//
// The tests share one cluster, in which each has a namespace of its own.
package chains
