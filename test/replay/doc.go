// Package replay tests "listfacade replay", "listfacade diff" and "listfacade log" with journals that facades write.
// While objects change, the tests read exact lists from kube-apiserver. A replay must return the same bytes at the same
// resourceVersions. "listfacade diff" must show the differences between these lists. kubectl reads from a replay. The
// tests also run the commands of docs/time-travel.md exactly as documented.
//
// The tests share one cluster. Each test has its own namespace.
package replay
