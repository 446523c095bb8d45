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

// memoryNet is a network in memory with one server. Tests can use it in a synctest bubble.
type memoryNet struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex // guards the fields below
	offline bool
	open    []net.Conn // the server's ends
}

func newMemoryNet() *memoryNet {
	return &memoryNet{dialed: make(chan net.Conn), closed: make(chan struct{})}
}

// ServeInMemory serves a handler over HTTP/1.1 and a network in memory until the test ends. It returns a client.
func ServeInMemory(t testing.TB, handler http.Handler) *http.Client {
	return serveInMemory(t, handler, &http.Transport{})
}

// ServeInMemoryHTTP2 is ServeInMemory over HTTP/2. The client buffers at most 64 KiB per stream.
func ServeInMemoryHTTP2(t testing.TB, handler http.Handler) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}}
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
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0),
		Protocols: new(http.Protocols)} //nolint:gosec // reachable in this process only
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

func (m *memoryNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	m.mu.Lock()
	offline := m.offline
	if !offline {
		m.open = append(m.open, server)
	}
	m.mu.Unlock()
	if offline {
		return nil, syscall.ECONNREFUSED
	}
	select {
	case m.dialed <- server:
		return client, nil
	case <-m.closed:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

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

func (m *memoryNet) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

func (m *memoryNet) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }

func (memoryAddr) String() string { return "upstream.test" }
