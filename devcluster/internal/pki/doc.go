// Package pki makes the certificates of a development cluster: authorities, the pairs they sign, the key that signs
// service account tokens, and kubeconfig files that hold a user's pair.
//
// It promises that the private key of an authority leaves memory only where WriteKey is called, so that elsewhere
// nothing can be signed with it after the process that made it ended; that every file is readable by its owner only,
// certificates excepted; and that the pairs are made with the standard library alone. It starts no goroutine.
//
// It is for clusters that live on one machine for a while. It renews and revokes nothing.
package pki
