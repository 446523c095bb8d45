// Package page asks whether a person on call can read the operator's page: in a real browser, before a real
// kube-apiserver, as it is and through a proxy, while all is well and while the upstream is gone.
package page
