// Package rights checks that the facade allows the same requests as a real kube-apiserver, also after roles, bindings
// and service accounts have changed.
package rights
