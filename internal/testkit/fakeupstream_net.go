package testkit

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
)

// memoryNet is a network of one server in memory, so that tests with it may run in a synctest bubble.
type memoryNet struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex // guards all below
	offline bool
	open    []net.Conn // the server's ends
}

func newMemoryNet() *memoryNet {
	return &memoryNet{dialed: make(chan net.Conn), closed: make(chan struct{})}
}

// ServeInMemory serves a handler until the test ends, in HTTP/1.1 over a network in memory, and returns a client of it.
func ServeInMemory(t testing.TB, handler http.Handler) *http.Client {
	return serveInMemory(t, handler, &http.Transport{})
}

// ServeInMemoryHTTP2 is ServeInMemory in HTTP/2. The client takes at most 64 KiB of a stream that are not read.
func ServeInMemoryHTTP2(t testing.TB, handler http.Handler) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	return serveInMemory(t, handler, transport)
}

func serveInMemory(t testing.TB, handler http.Handler, transport *http.Transport) *http.Client {
	network := newMemoryNet()
	network.serve(t, handler)
	transport.DialContext, transport.DisableCompression = network.dial, true
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (m *memoryNet) serve(t testing.TB, handler http.Handler) {
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols)} //nolint:gosec // nobody else can reach it
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(m)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
}

// dial connects to the server.
func (m *memoryNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	m.mu.Lock()
	offline := m.offline
	if !offline {
		m.open = append(m.open, theirs)
	}
	m.mu.Unlock()
	if offline {
		return nil, syscall.ECONNREFUSED
	}
	select {
	case m.dialed <- theirs:
		return ours, nil
	case <-m.closed:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// setOffline refuses connections, and cuts those that are open.
func (m *memoryNet) setOffline(offline bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offline = offline
	if offline {
		for _, conn := range m.open {
			_ = conn.Close()
		}
		m.open = nil
	}
}

// Accept implements net.Listener.
func (m *memoryNet) Accept() (net.Conn, error) {
	select {
	case conn := <-m.dialed:
		return conn, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *memoryNet) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

// Addr implements net.Listener.
func (m *memoryNet) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

// Network implements net.Addr.
func (memoryAddr) Network() string { return "memory" }

func (memoryAddr) String() string { return "upstream.test" }
