// Package serviceaccount contains the user names and groups that kube-apiserver gives to service accounts, and the keys
// of the user's extra fields about the pod and node that a token is bound to. It also reads and verifies bound service
// account tokens (docs/adr/0034-bound-tokens-are-verified.md).
//
// It promises:
//   - Verify accepts only tokens that kube-apiserver signed with a published key, for the published issuer.
//   - A token in any other than the usual form gets ErrUnusual, even if kube-apiserver may accept it.
//   - Claims are read with the packages that kube-apiserver uses, so both read the same from the same bytes.
//   - Errors contain no part of a token.
//
// It starts no goroutine, sends no request and does not decide whether a token is accepted. Its names replace those of
// kube-apiserver's own package, which would link all types of the core API into the program (ADR 25). Tests compare the
// two.
package serviceaccount
