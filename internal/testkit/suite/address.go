package suite

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// The ports of free addresses lie behind those that the devcluster hands out, and below those from which Linux takes
// the ports of connections and of who asks for any.
const (
	firstPort = 30000
	ports     = 2700
)

// FreeAddress is one, host and port, that nobody listens on, and that no other test gets until this one ends, in
// whatever process: a file is locked for it, which the kernel lets go when the process dies.
func FreeAddress(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("listfacade-suite-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		port := strconv.Itoa(firstPort + rand.IntN(ports))
		lock, err := os.OpenFile(filepath.Join(dir, port), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		address := net.JoinHostPort("127.0.0.1", port)
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && isFree(address) {
			t.Cleanup(func() { _ = lock.Close() })
			return address
		}
		_ = lock.Close()
	}
	t.Fatal("there is no free port")
	return ""
}

func isFree(address string) bool {
	listener, err := net.Listen("tcp", address)
	return err == nil && listener.Close() == nil
}
