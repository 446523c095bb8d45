package frames

import (
	"net"
	"sync"
)

// Listener returns a listener whose connections can write several TLS records together.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &socket{Conn: conn}, nil
}

// socket is the connection below TLS. Before Conn writes a TLS record, it calls hold to say whether another record
// follows.
type socket struct {
	net.Conn
	mu      sync.Mutex // guards the fields below, because TLS also writes by itself on close and key updates
	holding bool
	held    *[]byte // nil if empty
}

// together is a pool of buffers for held records. A buffer is large enough for one frame of the server.
var together = sync.Pool{New: func() any {
	b := make([]byte, 0, enlarged+4<<10)
	return &b
}}

// keepTogether is the maximum capacity in bytes of a buffer that is used again. Buffers become larger only if a client
// sends SETTINGS_MAX_FRAME_SIZE again and allows larger frames.
const keepTogether = 2 * enlarged

// hold sets whether records are held until a later record or flush.
func (s *socket) hold(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = on
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.holding && s.held == nil {
		return s.Conn.Write(p)
	}
	if s.held == nil {
		s.held = together.Get().(*[]byte)
	}
	*s.held = append(*s.held, p...)
	if s.holding {
		return len(p), nil
	}
	return len(p), s.send()
}

func (s *socket) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = false
	if s.held == nil {
		return nil
	}
	return s.send()
}

func (s *socket) send() error {
	_, err := s.Conn.Write(*s.held)
	if err == nil && cap(*s.held) <= keepTogether {
		*s.held = (*s.held)[:0]
		together.Put(s.held)
	}
	s.held = nil
	return err
}
