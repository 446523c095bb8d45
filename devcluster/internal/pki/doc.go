// Package pki creates the certificates of a development cluster: authorities, the certificates that they sign, the key
// for service account tokens, and kubeconfig files with a user's certificate.
//
// The private key of an authority stays in memory unless WriteKey is called. Without that call, no certificate can be
// signed after the process has ended. All files except certificates and public keys are readable by their owner only.
// Certificates are created with the standard library alone. The package starts no goroutine.
//
// It is meant for temporary clusters on one machine. It renews and revokes nothing.
package pki
