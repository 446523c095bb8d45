// Package serviceaccount contains the user names and groups that kube-apiserver gives to service accounts. It also
// contains the keys of the user's extra fields about the pod and node that a token is bound to.
//
// It starts no goroutine and returns no errors. It replaces kube-apiserver's own package, which would link all types of
// the core API into the program (ADR 25). Tests compare the two.
package serviceaccount
