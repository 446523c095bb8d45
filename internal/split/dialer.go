package split

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"
)

// dialer opens connections with TLS. Safe for concurrent use.
type dialer struct {
	connect   func(ctx context.Context, network, address string) (net.Conn, error)
	roots     *x509.CertPool // nil for those of the system
	protocols []string       // of HTTP, the preferred one first
}

func newDialer(roots *x509.CertPool, protocols ...string) *dialer {
	connect := (&net.Dialer{Timeout: checkTimeout, KeepAlive: 30 * time.Second}).DialContext
	return &dialer{connect: connect, roots: roots, protocols: protocols}
}

// dial connects and verifies the server. The connection is a *tls.Conn.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	conn, err := d.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, &tls.Config{
		RootCAs: d.roots, ServerName: host, NextProtos: d.protocols, MinVersion: tls.VersionTLS12,
	})
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}
