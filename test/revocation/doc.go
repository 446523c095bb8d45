// Package revocation takes away from callers of a facade what they are let in by, rights, credentials, accounts, while
// they watch, and breaks what the facade asks about them: nobody is shown what they may not see any more, nobody is
// refused for lack of an answer, and all of it goes on by itself afterwards.
//
// The tests share a cluster, whose facades act as users with the rights of a facade and no others; those that change
// what is true of the whole cluster start one of their own.
package revocation
