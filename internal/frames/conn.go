package frames

import (
	"crypto/tls"
)

// Conn is a server's TLS connection on which HTTP/2 was agreed, as the HTTP/2 server shall see it. Reading and writing
// may go on at the same time, each by one goroutine.
type Conn struct {
	*tls.Conn
	greeting greeting
	cutter   cutter
	socket   *socket // below TLS; nil when the connection came from no Listener
}

// NewConn returns a connection of which nothing was read yet.
func NewConn(c *tls.Conn) *Conn {
	conn := &Conn{Conn: c}
	conn.socket, _ = c.NetConn().(*socket)
	return conn
}

// Read implements net.Conn. The client's first SETTINGS say that it takes larger frames than it does.
func (c *Conn) Read(p []byte) (int, error) {
	if c.greeting.over() {
		return c.Conn.Read(p)
	}
	return c.greeting.read(c.Conn, p)
}

// Write implements net.Conn. An error leaves the connection of no use, as one of TLS does.
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
		return n, c.socket.flush() // the last part may have been empty
	}
	return n, nil
}
