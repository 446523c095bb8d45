package agents

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// connection opens one connection after the other, always with the same watches.
type connection struct {
	fleet       *Fleet
	header      []hpack.HeaderField
	certificate *tls.Certificate // nil: none
	resources   []*resource
	unopened    int    // number of watches that were never open; used by the goroutine of the connection
	opened      func() // called when unopened becomes 0, or the connection ends; may be called again

	mu     sync.Mutex // guards the rest
	link   *link      // nil between two connections
	delays []time.Duration
}

// link is a connection that is open.
type link struct {
	of      *connection
	conn    *tls.Conn
	streams map[uint32]*resource // guarded by mu

	mu      sync.Mutex // guards streams and the fields below
	out     *bufio.Writer
	framer  *http2.Framer
	encoder *hpack.Encoder
	block   bytes.Buffer // buffer that the encoder writes to
	next    uint32       // ID of the next stream
	closed  bool
}

const (
	// dialWithin is the timeout of the handshakes. A server that all clients connect to at once may need seconds.
	dialWithin = 30 * time.Second
	// dialAgain is the pause after a failed connection.
	dialAgain = 100 * time.Millisecond
	// window is the maximum flow-control window of HTTP/2, in bytes. A connection receives fewer bytes in a benchmark, so
	// the client never updates its windows.
	window        = 1<<31 - 1
	defaultWindow = 1<<16 - 1
)

// run opens the connection again and again until the context ends.
func (c *connection) run(ctx context.Context) {
	select {
	case c.fleet.openers <- struct{}{}:
	case <-ctx.Done():
		return
	}
	c.unopened, c.opened = len(c.resources), sync.OnceFunc(func() { <-c.fleet.openers })
	defer c.opened()
	for ctx.Err() == nil {
		err := c.session(ctx)
		for _, r := range c.resources {
			r.leave(&c.fleet.counters)
		}
		if errors.Is(err, net.ErrClosed) { // cut closed the connection
			continue
		}
		c.fleet.counters.failed(err)
		select {
		case <-time.After(dialAgain):
		case <-ctx.Done():
		}
	}
}

func (c *connection) cut() {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l != nil {
		_ = l.conn.NetConn().Close() // without a TLS alert, like a lost node
	}
}

// session opens the connection, sends all requests, and reads until the connection ends.
func (c *connection) session(ctx context.Context) error {
	l, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = l.conn.NetConn().Close() }()
	c.mu.Lock()
	c.link = l
	c.mu.Unlock()
	defer l.close()
	defer context.AfterFunc(ctx, c.cut)()
	if err := l.greet(); err != nil {
		return err
	}
	for _, r := range c.resources {
		if r.over {
			continue
		}
		if err := l.request(r); err != nil {
			return err
		}
	}
	if err := l.flush(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := l.read(); err != nil {
			return err
		}
	}
	return net.ErrClosed
}

func (c *connection) dial(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	config := c.fleet.config.TLS.Clone()
	config.NextProtos = []string{http2.NextProtoTLS}
	if c.certificate != nil {
		config.Certificates = []tls.Certificate{*c.certificate}
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", c.fleet.config.Address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	l := &link{of: c, conn: conn.(*tls.Conn), streams: map[uint32]*resource{}, next: 1}
	l.out = bufio.NewWriterSize(conn, 4<<10)
	l.framer = http2.NewFramer(l.out, conn)
	l.framer.SetReuseFrames()
	l.framer.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil)
	l.encoder = hpack.NewEncoder(&l.block)
	return l, nil
}

// greet sends the preface with the largest windows.
func (l *link) greet() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.WriteString(l.out, http2.ClientPreface)
	return errors.Join(err,
		l.framer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize,
			Val: window}),
		l.framer.WriteWindowUpdate(0, window-defaultWindow))
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

func (l *link) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Flush()
}

// request buffers the next request of a resource.
func (l *link) request(r *resource) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	l.block.Reset()
	for _, field := range []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"},
		{Name: ":authority", Value: l.of.fleet.config.Address}, {Name: ":path", Value: r.next()},
		{Name: "accept", Value: l.of.fleet.config.Encoding.mediaType()}, {Name: "user-agent", Value: "listfacade-bench"},
	} {
		_ = l.encoder.WriteField(field) // a write into a buffer succeeds
	}
	for _, field := range l.of.header {
		_ = l.encoder.WriteField(field)
	}
	l.streams[l.next] = r
	err := l.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: l.next, BlockFragment: l.block.Bytes(),
		EndStream: true, EndHeaders: true})
	l.next += 2
	return err
}

// again sends the next request of a resource after a time.
func (l *link) again(r *resource, after time.Duration) {
	time.AfterFunc(after, func() {
		if l.request(r) == nil {
			_ = l.flush() // the reading goroutine receives the error, too
		}
	})
}

// read handles one frame.
func (l *link) read() error {
	frame, err := l.framer.ReadFrame()
	if err != nil {
		return err
	}
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return l.reply(l.framer.WriteSettingsAck)
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return l.reply(func() error { return l.framer.WritePing(true, f.Data) })
		}
	case *http2.GoAwayFrame:
		return fmt.Errorf("the server sent GOAWAY: %s", f.ErrCode)
	case *http2.MetaHeadersFrame:
		r := l.stream(f.StreamID)
		if r != nil && f.PseudoValue("status") != "" {
			l.of.begins(r, f)
		}
		return l.end(f.StreamID, f.StreamEnded())
	case *http2.DataFrame:
		if r := l.stream(f.StreamID); r != nil {
			l.of.received(r, f.Data())
		}
		return l.end(f.StreamID, f.StreamEnded())
	case *http2.RSTStreamFrame:
		l.of.fleet.counters.failed(fmt.Errorf("stream reset: %s", f.ErrCode))
		return l.end(f.StreamID, true)
	}
	return nil
}

func (l *link) reply(write func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(write(), l.out.Flush())
}

func (l *link) stream(id uint32) *resource {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[id]
}

// end sends the next request of a resource whose stream has ended.
func (l *link) end(id uint32, ended bool) error {
	r := l.stream(id)
	if !ended || r == nil {
		return nil
	}
	l.mu.Lock()
	delete(l.streams, id)
	l.mu.Unlock()
	again, after := r.ends(l.of.fleet)
	switch {
	case !again:
		return nil
	case after > 0:
		l.again(r, after)
		return nil
	}
	return errors.Join(l.request(r), l.flush())
}

// begins handles the header of a response.
func (c *connection) begins(r *resource, f *http2.MetaHeadersFrame) {
	r.begins(&c.fleet.counters, f)
	if !r.watching || r.wasOpen {
		return
	}
	r.wasOpen = true
	if c.unopened--; c.unopened == 0 {
		c.opened()
	}
}

// received handles a part of a body.
func (c *connection) received(r *resource, data []byte) {
	if !r.watching {
		r.keep(data)
		return
	}
	now, encoding := time.Now(), c.fleet.config.Encoding
	for len(data) > 0 {
		n, complete := encoding.cut(r.partial, r.received, data)
		if !complete {
			r.keep(data)
			return
		}
		frame := data[:n]
		if r.received > 0 {
			r.keep(frame)
			frame = r.partial
		}
		c.note(r, frame, now)
		r.partial, r.received, data = r.partial[:0], 0, data[n:]
	}
}

// note records an event. frame is the complete event or its beginning.
func (c *connection) note(r *resource, frame []byte, now time.Time) {
	if !r.take(c.fleet.config.Encoding.read(frame)) {
		return
	}
	if stamp := numberAfter(frame, c.fleet.config.Stamp); stamp > 0 {
		c.mu.Lock()
		c.delays = append(c.delays, now.Sub(time.Unix(0, int64(stamp)))) //nolint:gosec // a time in this century
		c.mu.Unlock()
	}
	c.fleet.counters.events.Add(1)
}
