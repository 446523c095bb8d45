// Package serviceaccount knows the names that kube-apiserver gives service accounts as users: their own, those of their
// groups, and the keys under which it says of a token what that is bound to.
//
// It knows names only, starts no goroutine and never fails. It is there because kube-apiserver's own package brings all
// types of the core API into a program (ADR 25), and is tested against it.
package serviceaccount
