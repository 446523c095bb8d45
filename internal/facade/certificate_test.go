package facade

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"
	certutil "k8s.io/client-go/util/cert"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// A pair that is valid for the address is kept, so that clients need not trust another one. A pair for another address
// is replaced.
func TestSelfSignedPair(t *testing.T) {
	c := Defaults()
	c.CertDir = filepath.Join(t.TempDir(), "made", "here")
	first := leaf(t, c)
	if again := leaf(t, c); !bytes.Equal(first, again) {
		t.Error("a valid pair was replaced")
	}
	c.BindAddress = net.IPv4(127, 0, 0, 9)
	if other := leaf(t, c); bytes.Equal(first, other) {
		t.Error("a pair for another address was kept")
	}
	info, err := os.Stat(filepath.Join(c.CertDir, "listfacade.key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %s of the key file", info.Mode())
	}
}

// leaf returns the serving certificate, which must be valid for the address.
func leaf(t *testing.T, c Config) []byte {
	t.Helper()
	pair, err := NewServingPair(c, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	leaf := pair.now.Load().Leaf
	if err := leaf.VerifyHostname(c.BindAddress.String()); err != nil {
		t.Error(err)
	}
	return leaf.Raw
}

// madePair returns another pair in PEM.
func madePair(t *testing.T) (cert, key []byte) {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// volume is a directory like the kubelet's volume of a Secret. The files are links into a directory behind one link,
// which is replaced.
type volume struct {
	dir      string
	versions int
}

func (v *volume) put(t *testing.T, cert, key []byte) {
	t.Helper()
	v.versions++
	version := fmt.Sprint("v", v.versions)
	steps := []func() error{
		func() error { return os.Mkdir(filepath.Join(v.dir, version), 0o700) },
		func() error { return os.WriteFile(filepath.Join(v.dir, version, "tls.crt"), cert, 0o600) },
		func() error { return os.WriteFile(filepath.Join(v.dir, version, "tls.key"), key, 0o600) },
		func() error { return os.Symlink(version, filepath.Join(v.dir, "..next")) },
		func() error { return os.Rename(filepath.Join(v.dir, "..next"), filepath.Join(v.dir, "..data")) },
	}
	if v.versions == 1 {
		for _, file := range []string{"tls.crt", "tls.key"} {
			steps = append(steps, func() error { return os.Symlink(filepath.Join("..data", file), filepath.Join(v.dir, file)) })
		}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

func (v *volume) config() Config {
	c := Defaults()
	c.CertFile, c.KeyFile = filepath.Join(v.dir, "tls.crt"), filepath.Join(v.dir, "tls.key")
	return c
}

// A pair that replaces the served one is served. An invalid pair changes nothing and is logged once.
func TestServingPairIsReloaded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		v := &volume{dir: t.TempDir()}
		cert, key := madePair(t)
		v.put(t, cert, key)
		core, logs := observer.New(zap.InfoLevel)
		pair, err := NewServingPair(v.config(), zap.New(core))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { pair.Run(ctx); close(ended) }()
		served := func(what string, cert []byte, warnings int) {
			t.Helper()
			<-time.After(3 * pairEvery)
			synctest.Wait()
			got, _ := pair.get(nil)
			if block, _ := pem.Decode(cert); !bytes.Equal(got.Certificate[0], block.Bytes) {
				t.Errorf("%s: another certificate is served", what)
			}
			if n := logs.FilterLevelExact(zap.WarnLevel).Len(); n != warnings {
				t.Errorf("%s: %d warnings", what, n)
			}
			logs.TakeAll()
		}
		served("at first", cert, 0)
		next, nextKey := madePair(t)
		v.put(t, next, nextKey)
		served("renewed", next, 0)
		v.put(t, []byte("garbage"), []byte("garbage"))
		served("garbage", next, 1)
		v.put(t, cert, nextKey)
		served("half of each", next, 0)
		v.put(t, next, nextKey)
		served("as before", next, 0)
		v.put(t, nil, nil)
		served("empty", next, 1)
		v.put(t, cert, key)
		served("the first again", cert, 0)
		stop()
		<-ended
	})
}

// A facade does not start without a pair.
func TestFacadeNeedsServingPair(t *testing.T) {
	v := &volume{dir: t.TempDir()}
	if _, err := NewServingPair(v.config(), zap.NewNop()); err == nil {
		t.Error("accepted missing files")
	}
	v.put(t, []byte("garbage"), []byte("garbage"))
	if _, err := NewServingPair(v.config(), zap.NewNop()); err == nil {
		t.Error("accepted an invalid key pair")
	}
}

// overTLS serves with the authorities. Its response is the number of certificates of the request.
func overTLS(t *testing.T, authorities func() *x509.CertPool) string {
	t.Helper()
	c := Defaults()
	c.CertDir = t.TempDir()
	pair, err := NewServingPair(c, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	answers := func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %d %t", r.Proto, len(r.TLS.PeerCertificates), r.TLS.DidResume)
	}
	server, err := NewServer(TLSConfig(pair, authorities), http.HandlerFunc(answers), zaptest.NewLogger(testkit.UntilEnd(t)))
	if err != nil {
		t.Fatal(err)
	}
	c.Port = 0
	listener, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = server.ServeTLS(listener, "", ""); close(ended) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return "https://" + listener.Addr().String()
}

// greet sends one request on a separate connection. It returns the response and the number of authorities that the
// client received; -1 if the server requested no certificate.
func greet(t *testing.T, version int, address string, with *tls.Certificate, sessions tls.ClientSessionCache) (answer string, received int) {
	t.Helper()
	received = -1
	transport := client(version).Transport.(*http.Transport)
	transport.TLSClientConfig.ClientSessionCache = sessions
	transport.TLSClientConfig.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		received = len(info.AcceptableCAs)
		return with, nil
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body := new(bytes.Buffer)
	if _, err := body.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return body.String(), received
}

// With authentication the server requests a client certificate and sends the current authorities. It accepts any
// certificate or none, in both versions of HTTP and on a resumed session.
func TestClientCertificates(t *testing.T) {
	pem, key := madePair(t)
	own, err := tls.X509KeyPair(pem, key)
	if err != nil {
		t.Fatal(err)
	}
	var authorities atomic.Pointer[x509.CertPool]
	address := overTLS(t, authorities.Load)
	for _, received := range []int{0, 1, 2} {
		pool := x509.NewCertPool()
		for range received {
			ca, _ := madePair(t)
			pool.AppendCertsFromPEM(ca)
		}
		if received > 0 {
			authorities.Store(pool)
		}
		for _, version := range versions {
			proto := map[int]string{1: "HTTP/1.1", 2: "HTTP/2.0"}[version]
			sessions := tls.NewLRUClientSessionCache(1)
			answer, got := greet(t, version, address, &own, sessions)
			if want := proto + fmt.Sprintf(" %d false", len(own.Certificate)); answer != want || got != received*certificatesIn(pem) {
				t.Errorf("got %s and %d authorities, want %s and %d", answer, got, want, received)
			}
			if answer, _ := greet(t, version, address, &own, sessions); answer != proto+fmt.Sprintf(" %d true", len(own.Certificate)) {
				t.Errorf("got %s on a resumed session", answer)
			}
			if answer, _ := greet(t, version, address, &tls.Certificate{}, nil); answer != proto+" 0 false" {
				t.Errorf("got %s without a certificate", answer)
			}
		}
	}
	if answer, received := greet(t, 2, overTLS(t, nil), &own, nil); answer != "HTTP/2.0 0 false" || received != -1 {
		t.Errorf("got %s and %d authorities without authentication", answer, received)
	}
}

// certificatesIn counts the certificates that a pool accepts from a bundle, including those that sign nothing.
func certificatesIn(bundle []byte) (n int) {
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		n++
	}
	return n
}

// TLS below 1.2 is refused.
func TestTLSVersions(t *testing.T) {
	for _, authorities := range []func() *x509.CertPool{nil, x509.NewCertPool} {
		address := overTLS(t, authorities)[len("https://"):]
		for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
			conn, err := tls.Dial("tcp", address, &tls.Config{
				InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: version, //nolint:gosec // the test's own server
			})
			if got := err == nil; got != want {
				t.Errorf("TLS %x: %v", version, err)
			}
			if err == nil {
				_ = conn.Close()
			}
		}
	}
}
