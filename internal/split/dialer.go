package split

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// dialer opens connections with TLS. Safe for concurrent use.
type dialer struct {
	connect     func(ctx context.Context, network, address string) (net.Conn, error)
	authorities *authorities
	protocols   []string // of HTTP, the preferred one first
}

func newDialer(a *authorities, protocols ...string) *dialer {
	connect := (&net.Dialer{Timeout: checkTimeout, KeepAlive: 30 * time.Second}).DialContext
	return &dialer{connect: connect, authorities: a, protocols: protocols}
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
		RootCAs: d.authorities.roots(), ServerName: host, NextProtos: d.protocols, MinVersion: tls.VersionTLS12,
	})
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}
