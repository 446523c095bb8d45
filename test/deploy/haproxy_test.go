package deploy

import (
	"bytes"
	"crypto/tls"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// balanced is a HAProxy with the configuration of deploy/haproxy.
type balanced struct {
	facade, apiServer  string // host:port
	clientCA, serverCA []byte // PEM
	serving, proxy     testkit.KeyPair
}

// start runs HAProxy until the test ends, and returns its URL.
func (b balanced) start(t *testing.T) string {
	t.Helper()
	binary, err := exec.LookPath("haproxy")
	if err != nil {
		suite.MayMiss(t, "there is no haproxy")
		t.Skip("there is no haproxy")
	}
	pki, address := t.TempDir(), suite.FreeAddress(t)
	for name, data := range map[string][]byte{
		"serving.pem":     slices.Concat(b.serving.CertData, b.serving.KeyData),
		"front-proxy.pem": slices.Concat(b.proxy.CertData, b.proxy.KeyData),
		"client-ca.crt":   b.clientCA, "server-ca.crt": b.serverCA,
	} {
		if err := os.WriteFile(filepath.Join(pki, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(binary, "-db", "-f", filepath.Join("..", "..", "deploy", "haproxy", "haproxy.cfg"))
	command.Env = append(os.Environ(), "BIND="+address, "FACADE="+b.facade, "APISERVER="+b.apiServer, "PKI="+pki)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		if t.Failed() || strings.Contains(said.String(), "ALERT") {
			t.Logf("haproxy said\n%s", &said)
		}
	})
	testkit.Eventually(t, "haproxy listens", func() error {
		connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test's own server
		if err == nil {
			err = connection.Close()
		}
		return err
	})
	return "https://" + address
}
