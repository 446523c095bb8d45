// Package questions sends the same requests to kube-apiserver and to a facade in front of it, and compares the answers
// byte by byte: every kind in every representation, selectors, refusals, documents, output of kubectl, and random
// requests.
//
// The tests share one cluster with the fixtures of testdata/objects. A test that writes uses its own objects.
package questions
