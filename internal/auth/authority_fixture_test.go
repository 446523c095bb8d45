package auth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// signer is a certificate authority of a test, a root or an intermediate.
type signer struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newSigner(t testing.TB, name string, by *signer) *signer {
	t.Helper()
	s := &signer{key: newKey(t)}
	template := certificateOf(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	if by == nil {
		by = &signer{certificate: template, key: s.key}
	}
	s.certificate = by.sign(t, template, s.key)
	return s
}

// certificateOf returns a template that is valid for a day.
func certificateOf(name string, groups ...string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func (s *signer) sign(t testing.TB, template *x509.Certificate, key crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, s.certificate, key.Public(), s.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// issue signs a template. The certificate has no usable private key.
func (s *signer) issue(t testing.TB, template *x509.Certificate) *x509.Certificate {
	t.Helper()
	return s.sign(t, template, s.key)
}

func (s *signer) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.certificate.Raw})
}

func bundleOf(signers ...*signer) []byte {
	var all [][]byte
	for _, s := range signers {
		all = append(all, s.pem())
	}
	return bytes.Join(all, nil)
}

// request returns a request on a connection with the given client certificates.
func request(chain ...*x509.Certificate) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "https://facade/api/v1/pods", nil)
	r.TLS = &tls.ConnectionState{HandshakeComplete: true, PeerCertificates: chain}
	return r
}

func withToken(r *http.Request, token string) *http.Request {
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func withHeaders(r *http.Request, pairs ...string) *http.Request {
	for i := 0; i < len(pairs); i += 2 {
		r.Header[pairs[i]] = append(r.Header[pairs[i]], pairs[i+1])
	}
	return r
}
