// Package top is the command that shows in a terminal who reads what from a facade at what cost, again and again, as
// kubectl top shows what pods take.
//
// It is a client of /debug/clients and nothing else: whom it asks and with which credentials it is told by kubectl's
// flags and kubeconfigs. It owns no goroutine, and ends with its context.
package top
