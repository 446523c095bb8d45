// Package serviceaccount contains the user names, groups and keys of extra fields that kube-apiserver gives to service
// accounts. It also reads and verifies bound service account tokens (docs/adr/0034-bound-tokens-are-verified.md).
//
// The package promises:
//   - Verify accepts only tokens that kube-apiserver signed with a published key, for the published issuer.
//   - A token of an unusual form gets ErrUnusual, even if kube-apiserver may accept it.
//   - Claims are read with kube-apiserver's packages, so kube-apiserver reads equal claims from the same bytes.
//   - Errors contain no part of a token.
//
// The package starts no goroutine and sends no request. It defines the names of users, groups and extra fields itself,
// because kube-apiserver's package would link all types of the core API into the program (ADR 25). Tests compare the
// names of both packages.
package serviceaccount
