package facade

import (
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"
)

// tlsConfig serves the pair. With authorities, clients are asked for a certificate, which they need not have, and told
// which authorities' are any use, as by kube-apiserver; whether it is good, authentication finds out, so that a bad one
// does not keep a token from being looked at.
func tlsConfig(pair *servingPair, authorities func() *x509.CertPool) *tls.Config {
	config := &tls.Config{
		GetCertificate: pair.get, MinVersion: tls.VersionTLS12,
		// Records of full size from the first on: the small ones that Go begins with cost a system call each, and let a
		// browser far away paint sooner.
		DynamicRecordSizingDisabled: true,
	}
	if authorities != nil {
		config.ClientAuth = tls.RequestClientCert
		config.GetConfigForClient = (&hintedConfig{base: config, authorities: authorities}).get
	}
	return config
}

// hintedConfig is a configuration with the authorities of the moment. It is cloned when they change, not for each
// handshake.
type hintedConfig struct {
	base        *tls.Config // complete by the first handshake: HTTP/2 is added to it
	authorities func() *x509.CertPool
	now         atomic.Pointer[tls.Config]
}

func (h *hintedConfig) get(*tls.ClientHelloInfo) (*tls.Config, error) {
	authorities := h.authorities()
	if now := h.now.Load(); now != nil && now.ClientCAs == authorities {
		return now, nil
	}
	next := h.base.Clone()
	next.ClientCAs, next.GetConfigForClient = authorities, nil
	h.now.Store(next)
	return next, nil
}
