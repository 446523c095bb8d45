// Package assess compares the predictions of "listfacade assess" with measurements. Twelve scripted clients read from a
// kube-apiserver that writes an audit log, and then from a facade.
//
// The tests use a cluster of their own, without controllers.
package assess
