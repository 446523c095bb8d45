// Package replay tests the command "listfacade replay" with journals that facades write. Exact lists of kube-apiserver,
// taken while the objects change, must equal those of the replay at the same resourceVersions, byte for byte. kubectl
// reads from a replay.
//
// The tests share one cluster. Each test has its own namespace.
package replay
