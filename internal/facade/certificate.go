package facade

import (
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"
)

// TLSConfig returns a configuration that serves the pair. If authorities is not nil, the server requests an optional
// client certificate and sends the names of the accepted authorities, as kube-apiserver does. The handshake does not
// verify the certificate, so that a client with an invalid certificate can use a token.
func TLSConfig(pair *ServingPair, authorities func() *x509.CertPool) *tls.Config {
	config := &tls.Config{
		GetCertificate: pair.get, MinVersion: tls.VersionTLS12,
		// Go begins a connection with small records, so that a browser can render earlier. Each record costs a system call.
		DynamicRecordSizingDisabled: true,
	}
	if authorities != nil {
		config.ClientAuth = tls.RequestClientCert
		config.GetConfigForClient = (&hintedConfig{base: config, authorities: authorities}).get
	}
	return config
}

// hintedConfig provides a TLS configuration that names the current authorities. It clones the base configuration only
// when the authorities change.
type hintedConfig struct {
	base        *tls.Config // the server adds HTTP/2 to it before the first handshake
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
