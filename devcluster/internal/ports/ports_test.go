package ports_test

import (
	"net"
	"testing"

	"github.com/listfacade/listfacade/devcluster/internal/ports"
)

func TestReserve(t *testing.T) {
	held := make(map[int]bool)
	for range 50 {
		r, err := ports.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Release() })
		if held[r.Port] {
			t.Errorf("port %d was handed out twice", r.Port)
		}
		if r.Port < 20000 || r.Port >= 30000 {
			t.Errorf("port %d is out of the range", r.Port)
		}
		held[r.Port] = true
		listener, err := net.Listen("tcp", r.Address())
		if err != nil {
			t.Fatalf("a reserved port is taken: %v", err)
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
}
