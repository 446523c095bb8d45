package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// TestStartFailsOnInvalidKubeconfig: the error names the problem.
func TestStartFailsOnInvalidKubeconfig(t *testing.T) {
	good := testkit.WriteInsecureKubeconfig(t, "https://127.0.0.1:1")
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"missing file":    {[]string{"--kubeconfig", dir + "/nowhere"}, "no such file or directory"},
		"a directory":     {[]string{"--kubeconfig", dir}, "is a directory"},
		"unknown context": {[]string{"--kubeconfig", good, "--context", "missing"}, `context "missing" does not exist`},
		"invalid YAML":    {[]string{"--kubeconfig", file("garbage", "\x00\x01<html>")}, "read --kubeconfig"},
		"empty file":      {[]string{"--kubeconfig", file("empty", "")}, "read --kubeconfig"},
		"another file":    {[]string{"--kubeconfig", file("pod", "apiVersion: v1\nkind: Pod\n")}, "read --kubeconfig"},
		"missing CA":      {[]string{"--kubeconfig", file("ca", "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', certificate-authority: /nowhere}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n")}, "/nowhere"},
		"invalid URL":     {[]string{"--kubeconfig", testkit.WriteInsecureKubeconfig(t, "https://[::1")}, "https://[::1"},
		"no kubeconfig":   {nil, "--kubeconfig is required outside a cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			command := command(facadeName)
			command.SetArgs(append(test.args, "--secure-port", "0", "--cert-dir", t.TempDir()))
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}
