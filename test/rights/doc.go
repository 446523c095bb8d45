// Package rights asks whether what a real kube-apiserver lets somebody do is what the facade takes it for, also after
// it has changed: roles, bindings and service accounts come and go.
package rights
