// Package page tests the operator's page in a real browser, with a real kube-apiserver. It opens the page directly and
// through proxies, while the facade is healthy and while the upstream is unreachable.
package page
