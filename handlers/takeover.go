package handlers

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

// closingTime is how long a client may take, in total, to accept all writes after its watch has ended, including the
// close message.
const closingTime = 3 * time.Second

// takenConn is a connection that a handler has taken over from net/http. Each write has a deadline, even if it only
// responds to a client's ping. Before ends() is called, there is no deadline between writes. Writes are never
// concurrent.
type takenConn struct {
	net.Conn
	timeout time.Duration

	mu    sync.Mutex // guards the fields below; locked while a deadline is set
	due   time.Time  // deadline of the current write; zero between writes
	until time.Time  // deadline of all writes; zero before the end of the watch
}

func (c *takenConn) Write(p []byte) (int, error) {
	if err := c.begin(time.Now()); err != nil {
		return 0, err
	}
	defer c.accepted()
	return c.Conn.Write(p)
}

func (c *takenConn) begin(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.due = now.Add(c.timeout); !c.until.IsZero() {
		c.due = earlier(c.due, c.until)
	}
	return c.SetWriteDeadline(c.due)
}

// accepted removes the deadline of a write. The TLS connection also writes at other times. If a passed deadline were
// still set, such a write would fail, and with it all later writes.
func (c *takenConn) accepted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = time.Time{}
	_ = c.SetWriteDeadline(c.until)
}

// ends limits the current write and all later writes to closingTime in total.
func (c *takenConn) ends() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.until.IsZero() {
		return
	}
	due := time.Now().Add(closingTime)
	if c.until = due; !c.due.IsZero() {
		due = earlier(c.due, due)
	}
	_ = c.SetWriteDeadline(due)
}

type takeover struct {
	http.ResponseWriter
	conn *takenConn
}

// Hijack implements http.Hijacker.
func (t *takeover) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	t.conn.Conn = conn
	buffered.Writer.Reset(t.conn)
	return t.conn, buffered, nil
}
