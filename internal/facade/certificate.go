package facade

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// renewBefore is how long before its end a self-signed pair is made anew at the next start.
const renewBefore = 24 * time.Hour

// tlsConfig loads the serving pair, or makes one in --cert-dir, as kube-apiserver does.
func tlsConfig(c Config) (*tls.Config, error) {
	certFile, keyFile := c.CertFile, c.KeyFile
	if certFile == "" {
		certFile, keyFile = filepath.Join(c.CertDir, "listfacade.crt"), filepath.Join(c.CertDir, "listfacade.key")
		if err := ensureSelfSigned(certFile, keyFile, c.BindAddress); err != nil {
			return nil, fmt.Errorf("make a self-signed certificate in --cert-dir %s: %w", c.CertDir, err)
		}
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("load the serving certificate: %w", err)
	}
	// Records of full size from the first on: the small ones that Go begins with cost a system call each, and let a
	// browser far away paint sooner.
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true}
	if !c.Authentication.AnonymousActsAsKubeconfig {
		config.ClientAuth = tls.RequestClientCert // verified by the authenticator, which has other ways, too
	}
	return config, nil
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
