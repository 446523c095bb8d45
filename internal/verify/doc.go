// Package verify is the command "listfacade verify". It compares a running facade with the kube-apiserver that it reads
// from: names, resourceVersions and bytes of all objects, in JSON and protobuf. Each resource is compared at one exact
// resourceVersion.
//
// The command is only a client of both servers, and reports missing permissions of its user. It keeps one response of
// each server in memory, owns no goroutine, and ends with its context.
package verify
