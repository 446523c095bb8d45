package frames

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// ErrNoHTTP2 is returned for requests to a server that does not offer HTTP/2. The server has not received the request.
var ErrNoHTTP2 = errors.New("the server does not offer HTTP/2")

const (
	// Windows of Go's client if a transport sets none, in bytes.
	defaultStream, defaultConnection = 4 << 20, 1 << 30
	// mostHeld is the maximum increment of a connection's window that is held back, in bytes. It also bounds the number
	// of held frames.
	mostHeld = 8 << 20
	// closeTimeout is how long Go's client waits for the end of TLS before it closes the connection below TLS.
	closeTimeout = 250 * time.Millisecond
)

// RoundTripper is a transport whose idle connections can be closed. Safe for concurrent use.
type RoundTripper interface {
	http.RoundTripper
	CloseIdleConnections()
}

// NewTransport returns a transport that sends requests only with HTTP/2. It uses the settings of t. The caller must not
// use t otherwise. t.DialTLSContext connects and returns a *tls.Conn after the handshake. NewTransport uses a
// deprecated package for the same reason as configure.
//
//nolint:staticcheck // see above
func NewTransport(t *http.Transport) (RoundTripper, error) {
	h2, err := http2.ConfigureTransports(t)
	if err != nil {
		return nil, fmt.Errorf("configure HTTP/2: %w", err)
	}
	settings := cmp.Or(t.HTTP2, &http.HTTP2Config{})
	stream := cmp.Or(settings.MaxReceiveBufferPerStream, defaultStream) / 4
	connection := min(cmp.Or(settings.MaxReceiveBufferPerConnection, defaultConnection)/4, mostHeld)
	h2.ConnPool = nil // the default pool, which dials
	h2.DialTLSContext = func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
		conn, err := t.DialTLSContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secure := conn.(*tls.Conn)
		if secure.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
			_ = conn.Close()
			return nil, ErrNoHTTP2
		}
		return &clientConn{Conn: secure, windows: newWindows(stream, connection)}, nil
	}
	return h2, nil
}

// clientConn is a TLS connection of Go's HTTP/2 client, which never writes concurrently.
type clientConn struct {
	*tls.Conn
	windows *windows
}

// Close implements net.Conn. Close of a *tls.Conn waits up to five seconds for a server that does not read. Go's client
// would close the connection below TLS after closeTimeout, but finds that connection only in a *tls.Conn.
func (c *clientConn) Close() error {
	timer := time.AfterFunc(closeTimeout, func() { _ = c.NetConn().Close() })
	defer timer.Stop()
	return c.Conn.Close()
}

// Write implements net.Conn.
func (c *clientConn) Write(p []byte) (int, error) {
	out := c.windows.next(p)
	if len(out) == 0 {
		return len(p), nil
	}
	if _, err := c.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
