// Package replay tests the commands "listfacade replay", diff and log with journals that facades write. While objects
// change, the tests read exact lists from kube-apiserver. A replay must return the same bytes at the same
// resourceVersions. The command diff must show the differences between these lists. kubectl reads from a replay. The
// commands of docs/time-travel.md run as they are in that document.
//
// The tests share one cluster. Each test has its own namespace.
package replay
