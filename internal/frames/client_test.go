package frames

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// A client closes the connection to a server that does not read after a quarter of a second, as Go's client does
// without this package.
func TestClientClosesConnectionToServerThatDoesNotRead(t *testing.T) {
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	bubble.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer func() { _ = far.Close() }()
		// A ticket would be a write that the client does not read.
		server := tls.Server(far, &tls.Config{Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: true, MinVersion: tls.VersionTLS13})
		done := make(chan error)
		go func() { done <- server.HandshakeContext(t.Context()) }()
		client := &clientConn{Conn: tls.Client(near, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})} //nolint:gosec // the test's own server
		if err := client.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_ = client.Close() // the error is that of the closed connection
		if got := time.Since(began); got != closeTimeout {
			t.Errorf("got %v, want %v", got, closeTimeout)
		}
	})
}
