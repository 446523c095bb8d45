package facade

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// renewBefore is how long before its end a self-signed pair is made anew at the next start.
const renewBefore = 24 * time.Hour

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

// ensureSelfSigned keeps a pair that still serves, so that clients who trust it need not learn a new one at each start.
func ensureSelfSigned(certFile, keyFile string, address net.IP) error {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err == nil && serves(pair.Leaf, address) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	addresses := []net.IP{address, net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", addresses, []string{"localhost", "listfacade"})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(certFile), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		return err
	}
	return os.WriteFile(certFile, cert, 0o644)
}

func serves(cert *x509.Certificate, address net.IP) bool {
	return cert != nil && time.Until(cert.NotAfter) > renewBefore && cert.VerifyHostname(address.String()) == nil
}
