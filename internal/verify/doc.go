// Package verify is the command that compares a running facade with the kube-apiserver that it reads from, once and
// from outside: names, resourceVersions and bytes of all objects, in JSON and in protobuf, each resource at one exact
// resourceVersion, page by page.
//
// It is a client of both and nothing else; it reads with the rights of whom it is told to be there, and says which he
// lacks. It has one page of each side in memory, owns no goroutine, and ends with its context.
package verify
