// Package informers has informers of many ages, each with the libraries of its time (test/clients), follow ten thousand
// objects through facades that are restarted, lose their window, and lag. The programs are other modules, compiled by
// the test: they and the facade meet over HTTP only.
package informers
