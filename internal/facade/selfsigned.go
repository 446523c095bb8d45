package facade

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	selfSignedFor = 365 * 24 * time.Hour
	// renewBefore is how long before the expiry a pair is replaced. A pair is replaced only when the process starts.
	renewBefore = 24 * time.Hour
	// clocksDiffer is how far a client's clock may be behind. The validity of certificates begins this long before
	// their creation.
	clocksDiffer = time.Hour
)

// ensureSelfSigned creates a self-signed pair, unless the files contain a pair that is valid for the address. Clients
// that trust the pair then also trust the server after a restart.
func ensureSelfSigned(certFile, keyFile string, address net.IP) error {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err == nil && serves(pair.Leaf, address) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	cert, key, err := newSelfSigned([]net.IP{address, net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		[]string{"localhost", "listfacade"})
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

// newSelfSigned returns the PEM of a key and of its certificate, with the certificate of its authority appended. The
// authority's key is not stored. The keys use P-256, because each handshake needs a signature, and RSA takes the server
// twenty times as long.
func newSelfSigned(addresses []net.IP, names []string) (certs, key []byte, err error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	from := time.Now().Add(-clocksDiffer)
	authority, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "listfacade-ca", NotBefore: from},
		authorityKey)
	if err != nil {
		return nil, nil, err
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		Subject: pkix.Name{CommonName: "listfacade"}, NotBefore: from, NotAfter: from.Add(selfSignedFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IPAddresses: addresses, DNSNames: names,
	}, authority, own.Public(), authorityKey)
	if err != nil {
		return nil, nil, err
	}
	certs, err = certutil.EncodeCertificates(&x509.Certificate{Raw: leaf}, authority)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(own)
	return certs, key, err
}
