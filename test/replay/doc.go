// Package replay tests the commands "listfacade replay", diff and log with journals that facades write. Exact lists of
// kube-apiserver, taken while the objects change, must equal those of the replay at the same resourceVersions, byte for
// byte, and have the differences that diff shows. kubectl reads from a replay. The commands of docs/time-travel.md run
// as they are in that document.
//
// The tests share one cluster. Each test has its own namespace.
package replay
