package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/listfacade/listfacade/devcluster/internal/pki"
)

func TestIssue(t *testing.T) {
	dir := t.TempDir()
	authority, err := pki.NewAuthority(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(dir, "server", pki.Subject{
		CommonName: "server", Organizations: []string{"group"}, Hosts: []string{"localhost", "127.0.0.1"},
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(authority.CertFile())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("the authority's file holds no certificate")
	}
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "elsewhere": false} {
		_, err := loaded.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		if (err == nil) != want {
			t.Errorf("for host %s: %v", host, err)
		}
	}
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err := loaded.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: usages}); err == nil {
		t.Error("a server's certificate is good for a client")
	}
	if mode := fileMode(t, pair.KeyFile); mode != 0o600 {
		t.Errorf("the key has the mode %o", mode)
	}
	if _, err := os.Stat(filepath.Join(dir, "ca.key")); err == nil {
		t.Error("the authority's key was written")
	}
}

func TestWriteKey(t *testing.T) {
	authority, err := pki.NewAuthority(t.TempDir(), "ca")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.WriteKey()
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	if !loaded.Leaf.IsCA || pair.CertFile != authority.CertFile() {
		t.Errorf("%+v is not the authority's pair", pair)
	}
	if mode := fileMode(t, pair.KeyFile); mode != 0o600 {
		t.Errorf("the key has the mode %o", mode)
	}
}

func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	authority, err := pki.NewAuthority(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(dir, "alice", pki.Subject{CommonName: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "alice.kubeconfig")
	kubeconfig := pki.Kubeconfig{Server: "https://127.0.0.1:1", CAFile: authority.CertFile(), User: "alice", Pair: pair}
	if err := kubeconfig.Write(path); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:1" || len(config.CertData) == 0 || len(config.KeyData) == 0 || len(config.CAData) == 0 {
		t.Errorf("the kubeconfig says %+v", config)
	}
	if mode := fileMode(t, path); mode != 0o600 {
		t.Errorf("the kubeconfig has the mode %o", mode)
	}
}

func fileMode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
