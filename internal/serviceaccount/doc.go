// Package serviceaccount contains the user names and groups of service accounts in kube-apiserver, and the keys of the
// extra fields that describe the object a token is bound to.
//
// It starts no goroutine and returns no errors. It replaces kube-apiserver's own package, which would link all types of
// the core API into the program (ADR 25). Tests compare the two.
package serviceaccount
