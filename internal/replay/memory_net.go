package replay

import (
	"context"
	"net"
	"sync"
)

// memoryNet is a network in memory with one server. It implements net.Listener.
type memoryNet struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemoryNet() *memoryNet {
	return &memoryNet{dialed: make(chan net.Conn), closed: make(chan struct{})}
}

func (m *memoryNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	var err error
	select {
	case m.dialed <- server:
		return client, nil
	case <-m.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_, _ = client.Close(), server.Close()
	return nil, err
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
func (*memoryNet) Addr() net.Addr { return memoryAddress{} }

type memoryAddress struct{}

// Network implements net.Addr.
func (memoryAddress) Network() string { return "memory" }

// String implements net.Addr.
func (memoryAddress) String() string { return "journal" }

// forwardedHost is the host of forwarded requests of clients. The handlers' own requests have the memoryAddress as
// their host, which no client can choose.
const forwardedHost = "forwarded"
