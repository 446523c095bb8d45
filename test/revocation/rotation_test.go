package revocation

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// rotating holds the certificate files of a facade, which the test replaces while it runs.
type rotating struct {
	cert, key, clientCA string
	pairs               []testkit.KeyPair // serving certificates, in the order of their use
	roots               *x509.CertPool    // of all pairs
}

func newRotating(t *testing.T, clientCA []byte) *rotating {
	t.Helper()
	dir := t.TempDir()
	r := &rotating{
		cert: filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key"), clientCA: filepath.Join(dir, "ca.crt"), roots: x509.NewCertPool(),
	}
	for range 2 {
		cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
		must(t, err)
		r.pairs = append(r.pairs, testkit.KeyPair{CertData: cert, KeyData: key})
		r.roots.AppendCertsFromPEM(cert)
	}
	r.serve(t, r.pairs[0])
	r.put(t, r.clientCA, clientCA)
	return r
}

// put replaces a file atomically.
func (r *rotating) put(t *testing.T, file string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(file+".new", data, 0o600))
	must(t, os.Rename(file+".new", file))
}

// serve installs a serving key pair, and returns its certificate.
func (r *rotating) serve(t *testing.T, pair testkit.KeyPair) *x509.Certificate {
	t.Helper()
	all, err := certutil.ParseCertsPEM(pair.CertData)
	must(t, err)
	r.put(t, r.cert, pair.CertData)
	r.put(t, r.key, pair.KeyData)
	return all[0]
}

// visit sends a request over a new connection, and returns the code and the server's certificate.
func (r *rotating) visit(url string, pair *testkit.KeyPair) (int, *x509.Certificate, error) {
	config := &tls.Config{RootCAs: r.roots, MinVersion: tls.VersionTLS12}
	if pair != nil {
		own, err := tls.X509KeyPair(pair.CertData, pair.KeyData)
		if err != nil {
			return 0, nil, err
		}
		// The certificate is sent even if the server does not list its authority.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: suite.Patience}
	response, err := client.Get(url + "/version")
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	return response.StatusCode, response.TLS.PeerCertificates[0], nil
}

// answered waits until a request with the certificate receives the code.
func (r *rotating) answered(t *testing.T, url string, pair testkit.KeyPair, code int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("requests with the certificate receive %d", code), func() error {
		got, _, err := r.visit(url, &pair)
		return errors.Join(err, wants(got, code))
	})
}

// Serving certificates and client authorities change while the facade serves. Valid client certificates are always
// accepted, those of a withdrawn authority are rejected, and malformed files change nothing.
func TestRotatedCertificatesAreUsedWithoutRestart(t *testing.T) {
	before, after := testkit.NewAuthority(t, "before"), testkit.NewAuthority(t, "after")
	who := testkit.Certificate{User: newUser()}
	old, young := before.Certify(t, who), after.Certify(t, who)
	r := newRotating(t, before.CertData())
	run := suite.StartDelegating(t, suite.Cluster(t), func(c *facade.Config) {
		c.CertFile, c.KeyFile, c.Authentication.ClientCAFile = r.cert, r.key, r.clientCA
	})
	r.answered(t, run.URL, old, http.StatusOK)
	r.answered(t, run.URL, young, http.StatusUnauthorized)

	stop, visits := r.keepVisiting(t, run.URL, old)
	r.put(t, r.clientCA, append(before.CertData(), after.CertData()...))
	r.answered(t, run.URL, young, http.StatusOK)
	next := r.serve(t, r.pairs[1])
	testkit.Eventually(t, "the next certificate is served", func() error {
		_, by, err := r.visit(run.URL, &old)
		if err == nil && !by.Equal(next) {
			err = errors.New("got the previous serving certificate")
		}
		return err
	})
	testkit.Eventually(t, "there were enough requests during the rotation", func() error {
		if n := visits(); n < 10 {
			return fmt.Errorf("got %d requests, want at least 10", n)
		}
		return nil
	})
	stop()

	r.put(t, r.clientCA, after.CertData())
	r.answered(t, run.URL, old, http.StatusUnauthorized)
	stop, _ = r.keepVisiting(t, run.URL, young)
	r.put(t, r.clientCA, []byte("garbage"))
	r.put(t, r.cert, []byte("garbage"))
	testkit.Eventually(t, "both malformed files are reported", func() error {
		for _, warning := range []string{"Failed to replace serving certificate", "Failed to read certificate authorities"} {
			if run.Logs.FilterMessageSnippet(warning).Len() == 0 {
				return fmt.Errorf("no warning says %q", warning)
			}
		}
		return nil
	})
	r.answered(t, run.URL, young, http.StatusOK)
	r.answered(t, run.URL, old, http.StatusUnauthorized)
	stop()
}

// keepVisiting sends requests until stop is called, and reports each request that is not answered with 200.
func (r *rotating) keepVisiting(t *testing.T, url string, pair testkit.KeyPair) (stop func(), visits func() int64) {
	t.Helper()
	over, ended := make(chan struct{}), make(chan struct{})
	var count atomic.Int64
	go func() {
		defer close(ended)
		for {
			if code, _, err := r.visit(url, &pair); err != nil || code != http.StatusOK {
				t.Errorf("request %d: got %d, %v, want 200", count.Load(), code, err)
			}
			count.Add(1)
			select {
			case <-over:
				return
			case <-time.After(time.Duration(settings.Amount(200, 50)) * time.Millisecond): //pace: visits are apart
			}
		}
	}()
	return sync.OnceFunc(func() { close(over); <-ended }), count.Load
}
