// Package settings is what the environment tells tests: LISTFACADE_SEED, which random numbers to draw; how much of a
// random test to do; LISTFACADE_SOAK, for how long; LISTFACADE_UPSTREAM, which release of kube-apiserver to ask;
// LISTFACADE_BUDGETS, how little a facade may keep; LISTFACADE_PACK, whether it keeps objects compressed;
// LISTFACADE_FAULTS, for how long each fault of reviews lasts; LISTFACADE_PATIENCE, how long a test waits before it
// fails; and `go test -short`, whether it does less. Without any of it every run does the same. It starts nothing and
// keeps nothing, and imports no more than a test of pure code may.
package settings
