// Package revocation removes rights, credentials and accounts of callers while they watch, and makes the facade's
// reviews fail. A caller receives no object that it may no longer read. No caller is refused because a review failed.
// When the fault ends, the facade recovers without a restart.
//
// The tests share a cluster. Their facades act as users that have only the rights of a facade. Tests that change the
// whole cluster start their own.
package revocation
