// Package questions asks kube-apiserver and a facade in front of it the same, one after the other, and compares the
// answers to the byte: every kind in every form, selectors, refusals, documents, what kubectl prints, and questions
// made at random.
//
// The tests share one cluster, with the fixtures of testdata/objects in it. Who writes there writes to objects of its
// own.
package questions
