// Package settings reads the settings of tests from the environment. If no variable is set, every run is the same.
//
//   - LISTFACADE_SEED is the seed of random tests. Further variables set how many random cases run.
//   - LISTFACADE_SOAK is the duration of test/soak, and of random tests that have a Budget.
//   - LISTFACADE_SOAK_FAULTS is a list of the faults in test/soak.
//   - LISTFACADE_FAULTS is the duration of each fault in test/revocation.
//   - LISTFACADE_UPSTREAM is the release of kube-apiserver.
//   - LISTFACADE_BUDGETS=smallest starts facades with the smallest budgets.
//   - LISTFACADE_PACK=off starts facades that do not compress objects in memory.
//   - LISTFACADE_EXTRAS is the --authorization-extras of facades, auto by default.
//   - LISTFACADE_TOKENS=review starts facades that review every token.
//   - LISTFACADE_PATIENCE multiplies the time that a test waits for a condition before it fails.
//   - `go test -short` selects shorter tests.
//
// The package has no state and starts no goroutine. It imports only what a test of pure code may import.
package settings
