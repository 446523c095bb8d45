package frames

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/net/http2"
)

// ConfigureServer lets a server speak HTTP/2 as net/http does by itself, on a Conn. The server's field HTTP2 says how,
// as ever.
func ConfigureServer(server *http.Server) error {
	return configure(server, func(c *tls.Conn) net.Conn { return NewConn(c) })
}

// configure uses what x/net advises against now that net/http can be told all about HTTP/2 but one thing: which
// connection to speak it on. It is kept, and is net/http's own server from Go 1.27 on.
//
//nolint:staticcheck // see above
func configure(server *http.Server, wrap func(*tls.Conn) net.Conn) error {
	// The scheduler that it has by itself looks at each stream of the connection to find one that has something to write,
	// hundreds of watches for one event. This one knows those that have.
	speaker := &http2.Server{NewWriteScheduler: http2.NewRandomWriteScheduler}
	if err := http2.ConfigureServer(server, speaker); err != nil {
		return fmt.Errorf("prepare HTTP/2: %w", err)
	}
	server.TLSNextProto[http2.NextProtoTLS] = func(server *http.Server, conn *tls.Conn, handler http.Handler) {
		o := &http2.ServeConnOpts{BaseConfig: server, Handler: handler}
		if base, ok := handler.(interface{ BaseContext() context.Context }); ok { // net/http's way to hand it on
			o.Context = base.BaseContext()
		}
		speaker.ServeConn(wrap(conn), o)
	}
	return nil
}
