package frames

import (
	"crypto/tls"
)

// Conn is a TLS connection for Go's HTTP/2 server. One goroutine may read while another writes.
type Conn struct {
	*tls.Conn
	greeting greeting
	cutter   cutter
	socket   *socket // connection below TLS; nil if it is not from Listener
}

// NewConn returns a Conn for a connection from which nothing has been read.
func NewConn(c *tls.Conn) *Conn {
	conn := &Conn{Conn: c}
	conn.socket, _ = c.NetConn().(*socket)
	return conn
}

// Read implements net.Conn. It enlarges the maximum frame size in the client's first SETTINGS.
func (c *Conn) Read(p []byte) (int, error) {
	if c.greeting.over() {
		return c.Conn.Read(p)
	}
	return c.greeting.read(c.Conn, p)
}

// Write implements net.Conn. After an error the connection is unusable, like a *tls.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	n := len(p)
	var part []byte
	for len(p) > 0 {
		part, p = c.cutter.next(p)
		if c.socket != nil {
			c.socket.hold(len(p) > 0)
		}
		if len(part) == 0 {
			continue
		}
		if _, err := c.Conn.Write(part); err != nil {
			return 0, err
		}
	}
	if c.socket != nil {
		return n, c.socket.flush() // if the last part was empty, the socket still holds records
	}
	return n, nil
}
