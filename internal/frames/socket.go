package frames

import (
	"net"
	"sync"
)

// Listener returns a listener whose connections can send several TLS records together.
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

// socket is what TLS writes records to. Who writes through TLS says before a record whether another follows.
type socket struct {
	net.Conn
	mu      sync.Mutex // TLS writes by itself when it closes, or changes its keys
	holding bool
	held    *[]byte // nil when there is nothing
}

// together are the buffers in which records are held: those of one frame that the server was told to write.
var together = sync.Pool{New: func() any {
	b := make([]byte, 0, told+4<<10)
	return &b
}}

// keepTogether is how large a buffer may be that is used again. A client that takes large frames makes them larger.
const keepTogether = 2 * told

// hold says whether the next record waits for another.
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

// flush sends what is held.
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
