package facade

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// The expiry is that of the client certificate, wherever the configuration contains it; a file is read again.
func TestClientCertificateEnd(t *testing.T) {
	cert, _ := madePair(t)
	block, _ := pem.Decode(cert)
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "client.crt")
	ends := func(what string, tls rest.TLSClientConfig, want bool) {
		t.Helper()
		until, ok := clientCertificateEnd(&rest.Config{TLSClientConfig: tls})
		if ok != want || ok && !until.Equal(parsed.NotAfter) {
			t.Errorf("%s: %s, %t", what, until, ok)
		}
	}
	ends("none", rest.TLSClientConfig{}, false)
	ends("no file", rest.TLSClientConfig{CertFile: file}, false)
	if err := os.WriteFile(file, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	ends("a file", rest.TLSClientConfig{CertFile: file}, true)
	ends("data", rest.TLSClientConfig{CertData: cert}, true)
	ends("garbage", rest.TLSClientConfig{CertData: []byte("garbage")}, false)
}
