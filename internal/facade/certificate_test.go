package facade

import (
	"bytes"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestSelfSignedPair: a pair that serves is kept, so that clients need not learn a new one; one for another address is
// not.
func TestSelfSignedPair(t *testing.T) {
	c := Defaults()
	c.CertDir = filepath.Join(t.TempDir(), "made", "here")
	first := leaf(t, c)
	if again := leaf(t, c); !bytes.Equal(first, again) {
		t.Error("a pair that serves was made anew")
	}
	c.BindAddress = net.IPv4(127, 0, 0, 9)
	if other := leaf(t, c); bytes.Equal(first, other) {
		t.Error("a pair that does not serve the address was kept")
	}
	info, err := os.Stat(filepath.Join(c.CertDir, "listfacade.key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key can be read by others: %s", info.Mode())
	}
}

// leaf is the serving certificate, which names the address that is served.
func leaf(t *testing.T, c Config) []byte {
	t.Helper()
	config, err := tlsConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	if config.MinVersion != tls.VersionTLS12 {
		t.Errorf("TLS from version %x on", config.MinVersion)
	}
	leaf := config.Certificates[0].Leaf
	if err := leaf.VerifyHostname(c.BindAddress.String()); err != nil {
		t.Error(err)
	}
	return leaf.Raw
}
