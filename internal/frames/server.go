package frames

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/net/http2"
)

// ConfigureServer configures a server for HTTP/2 on a Conn. The server's field HTTP2 applies as in net/http.
func ConfigureServer(server *http.Server) error {
	return configure(server, func(c *tls.Conn) net.Conn { return NewConn(c) })
}

// configure uses a deprecated package, because net/http cannot set the connection that HTTP/2 uses. The deprecated
// package is still maintained. From Go 1.27 on, it uses the HTTP/2 server of net/http.
//
//nolint:staticcheck // see above
func configure(server *http.Server, wrap func(*tls.Conn) net.Conn) error {
	// For each event, the default scheduler examines every stream, which may be hundreds of watches. This scheduler
	// keeps only the streams with data.
	h2 := &http2.Server{NewWriteScheduler: http2.NewRandomWriteScheduler}
	if err := http2.ConfigureServer(server, h2); err != nil {
		return fmt.Errorf("configure HTTP/2: %w", err)
	}
	server.TLSNextProto[http2.NextProtoTLS] = func(server *http.Server, conn *tls.Conn, handler http.Handler) {
		o := &http2.ServeConnOpts{BaseConfig: server, Handler: handler}
		if base, ok := handler.(interface{ BaseContext() context.Context }); ok { // the interface that net/http uses
			o.Context = base.BaseContext()
		}
		h2.ServeConn(wrap(conn), o)
	}
	return nil
}
