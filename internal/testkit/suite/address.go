package suite

import (
	"net"
	"os"
	"strconv"
	"testing"
)

// The ports that tests choose themselves. The kernel assigns ports from 32768 upwards, and a devcluster uses ports
// below 30000, so no other process gets one of these by chance.
const (
	firstPort = 30_000
	portCount = 2768
)

// FreeAddress returns a host and port without a listener. No other test gets the address before this test ends, even
// while this test does not listen on it.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for i := range portCount { // other processes begin with another port
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+(97*os.Getpid()+i)%portCount))
		// The test that binds the UDP port owns the TCP port, among the tests of all packages.
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

// FreePort returns the port of a FreeAddress.
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
