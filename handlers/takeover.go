package handlers

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

// closingTime is how long a client may take to accept what is still written on a connection when its watch has ended,
// the message that closes it included.
const closingTime = 3 * time.Second

// takenConn is a connection that a handler has taken over from net/http. Each write has a deadline of its own, whoever
// writes: events, and answers to a client's pings. Between writes no deadline stands. Writes come one at a time.
type takenConn struct {
	net.Conn
	timeout time.Duration

	mu    sync.Mutex // guards what follows; held while a deadline is set
	due   time.Time  // when the write under way must be accepted; zero between writes
	until time.Time  // when every write must be accepted; zero before the end
}

// Write implements io.Writer.
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

// accepted removes the deadline: TLS writes by itself, too, and fails for good when one has passed.
func (c *takenConn) accepted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = time.Time{}
	_ = c.SetWriteDeadline(c.until)
}

// ends leaves the write under way, and all that follow, the closing time together.
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

// takeover hands a connection to the handler that takes it over.
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
