package suite

import (
	"net"
	"os"
	"strconv"
	"testing"
)

// The ports that tests choose themselves. Who asks for any is given one from 32768 upwards, and a devcluster takes one
// below 30000, so that nobody comes to have one of these by chance.
const (
	firstPort = 30_000
	portCount = 2768
)

// FreeAddress is one, host and port, that nobody listens on, and that nobody else takes before the test ends, whether
// the test listens there at the moment or not.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for i := range portCount { // from one that other processes do not begin with
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+(97*os.Getpid()+i)%portCount))
		// Who has the port of UDP has the one of TCP, among the tests of all packages.
		claim, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_ = claim.Close()
			continue
		}
		t.Cleanup(func() { _ = claim.Close() })
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return address
	}
	t.Fatal("no port is free")
	return ""
}

// FreePort is the port of a FreeAddress.
func FreePort(t testing.TB) int {
	t.Helper()
	_, text, err := net.SplitHostPort(FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
