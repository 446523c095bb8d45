package revocation

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// door is an address behind which there is a server, while it is open. Who comes while it is shut is refused by the
// kernel, as by a machine whose server is not there.
type door struct {
	address, to string

	mu       sync.Mutex // guards the rest
	listener net.Listener
	inside   map[net.Conn]bool
}

func newDoor(t *testing.T, to string) *door {
	t.Helper()
	d := &door{address: "127.0.0.1:0", to: to, inside: map[net.Conn]bool{}}
	d.open(t)
	t.Cleanup(d.shut)
	return d
}

func (d *door) open(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, suite.Within, "the address is free", func() error {
		listener, err := net.Listen("tcp", d.address)
		if err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.listener, d.address = listener, listener.Addr().String()
		go d.serve(listener)
		return nil
	})
}

// shut throws out who is inside, too.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.listener.Close()
	for conn := range d.inside {
		_ = conn.Close()
	}
}

func (d *door) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go d.pass(conn)
	}
}

func (d *door) pass(conn net.Conn) {
	behind, err := net.Dial("tcp", d.to)
	if err != nil {
		_ = conn.Close()
		return
	}
	d.keep(conn, behind)
	defer d.leave(conn, behind)
	go func() {
		_, _ = io.Copy(behind, conn)
		_ = behind.Close()
	}()
	_, _ = io.Copy(conn, behind)
}

func (d *door) keep(both ...net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, conn := range both {
		d.inside[conn] = true
	}
}

func (d *door) leave(both ...net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, conn := range both {
		_ = conn.Close()
		delete(d.inside, conn)
	}
}
