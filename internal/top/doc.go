// Package top is the command "listfacade top". It repeatedly prints the clients of a facade with their costs, as
// kubectl top prints the resource usage of pods.
//
// The command requests /debug/clients. The server and the credentials come from kubectl's flags and kubeconfigs. The
// command starts no goroutine, and ends with its context.
package top
