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

	mu       sync.Mutex   // guards the rest
	listener net.Listener // nil while it is shut
	inside   map[net.Conn]bool
}

func newDoor(t *testing.T, to string) *door {
	t.Helper()
	d := &door{address: suite.FreeAddress(t), to: to, inside: map[net.Conn]bool{}}
	d.open(t)
	t.Cleanup(d.shut)
	return d
}

func (d *door) open(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the address is free", func() error {
		listener, err := net.Listen("tcp", d.address)
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

// shut throws out who is inside, too.
func (d *door) shut() {
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

func (d *door) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go d.pass(listener, conn)
	}
}

func (d *door) pass(by net.Listener, conn net.Conn) {
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

// keep remembers who is inside, unless the door that let him in has been shut since.
func (d *door) keep(by net.Listener, both ...net.Conn) bool {
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

func (d *door) leave(both ...net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, conn := range both {
		_ = conn.Close()
		delete(d.inside, conn)
	}
}
