package revocation

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// closable forwards connections from an address to a server. While it is shut, the kernel refuses connections, as if no
// server ran there.
type closable struct {
	text, to string // the address, and the server's

	mu       sync.Mutex   // guards the rest
	listener net.Listener // nil while it is shut
	inside   map[net.Conn]bool
}

func newClosable(t *testing.T, to string) *closable {
	t.Helper()
	d := &closable{text: suite.FreeAddress(t), to: to, inside: map[net.Conn]bool{}}
	d.open(t)
	t.Cleanup(d.shut)
	return d
}

func (d *closable) open(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the address is free", func() error {
		listener, err := net.Listen("tcp", d.text)
		if err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.listener = listener
		go d.serve(listener)
		return nil
	})
}

// shut also closes the connections that are open.
func (d *closable) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener != nil {
		_ = d.listener.Close()
	}
	d.listener = nil
	for conn := range d.inside {
		_ = conn.Close()
	}
}

func (d *closable) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go d.pass(listener, conn)
	}
}

func (d *closable) pass(by net.Listener, conn net.Conn) {
	behind, err := net.Dial("tcp", d.to)
	if err != nil {
		_ = conn.Close()
		return
	}
	defer d.leave(conn, behind)
	if !d.keep(by, conn, behind) {
		return
	}
	go func() {
		_, _ = io.Copy(behind, conn)
		_ = behind.Close()
	}()
	_, _ = io.Copy(conn, behind)
}

// keep registers the connections, and reports whether the listener that accepted them is still open.
func (d *closable) keep(by net.Listener, both ...net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener != by {
		return false
	}
	for _, conn := range both {
		d.inside[conn] = true
	}
	return true
}

func (d *closable) leave(both ...net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, conn := range both {
		_ = conn.Close()
		delete(d.inside, conn)
	}
}
