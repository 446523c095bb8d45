package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// server is an HTTPS server with an authority of its own. It answers each request with a status, and notes the request.
type server struct {
	*httptest.Server
	ca     []byte
	status int

	mu   sync.Mutex
	seen []seen
}

// seen is a request: its line, its Host, and who sent it.
type seen struct{ line, host, token, certificate string }

// newServer starts a server that ends with the test.
func newServer(t *testing.T, status int) *server {
	t.Helper()
	s := &server{status: status}
	certificate, ca := selfSigned(t, "server")
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	s.ca = ca
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := seen{line: r.Method + " " + r.URL.RequestURI(), host: r.Host, token: r.Header.Get("Authorization")}
	for _, certificate := range r.TLS.PeerCertificates {
		request.certificate = certificate.Subject.CommonName
	}
	s.mu.Lock()
	s.seen = append(s.seen, request)
	s.mu.Unlock()
	w.WriteHeader(s.status)
}

// take returns the requests since the last call.
func (s *server) take() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.seen
	s.seen = nil
	return taken
}

// selfSigned returns a certificate of 127.0.0.1 that is its own authority, and the authority in PEM.
func selfSigned(t *testing.T, name string) (tls.Certificate, []byte) {
	t.Helper()
	ca, key := pair(t, name)
	certificate, err := tls.X509KeyPair(ca, key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, ca
}

// pair returns a certificate and its key in PEM.
func pair(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}
