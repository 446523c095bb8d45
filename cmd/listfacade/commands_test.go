package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// output runs the command and returns what it prints on standard output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	c := command(name)
	c.SetOut(&out)
	c.SetArgs(args)
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return out.String()
}

// TestVersion: the version is printed for people and for programs, with the Go version and the platform.
func TestVersion(t *testing.T) {
	var got build
	if err := json.Unmarshal([]byte(output(t, facadeName, "version", "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	want := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	got.Commit, got.Modified = "", false // which the build of a test does not record everywhere
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := output(t, facadeName, "version"); !strings.HasPrefix(got, "listfacade "+version+"\n") {
		t.Errorf("got %q, want the version in the first line", got)
	}
	if got := output(t, facadeName, "--version"); !strings.Contains(got, version) {
		t.Errorf("got %q, want the version", got)
	}
	c := command(facadeName)
	c.SetArgs([]string{"version", "-o", "xml"})
	if err := c.ExecuteContext(t.Context()); err == nil {
		t.Error("got no error for an unknown format")
	}
}

// TestCompletion: each shell gets a script, which the shell can parse, and no other shell gets one.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := output(t, facadeName, "completion", shell)
		if !strings.Contains(script, "__complete") {
			t.Errorf("%s: got %q, want a script", shell, script)
		}
		program, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		parse := exec.CommandContext(t.Context(), program, "-n")
		parse.Stdin = strings.NewReader(script)
		if out, err := parse.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	c := command(facadeName)
	c.SetArgs([]string{"completion", "powershell"})
	if err := c.ExecuteContext(t.Context()); err == nil {
		t.Error("got no error for an unknown shell")
	}
	if got := output(t, facadeName, "__complete", "completion", ""); !strings.Contains(got, "zsh") {
		t.Errorf("got completions %q, want the shells", got)
	}
}

// TestPluginDoesNotServe: kubectl's plugin has the commands for a running facade. It names itself as it is called.
func TestPluginDoesNotServe(t *testing.T) {
	help := output(t, pluginName, "--help")
	if !strings.Contains(help, "kubectl listfacade [command]") {
		t.Errorf("got %q, want a usage line of the plugin", help)
	}
	var names []string
	for _, c := range command(pluginName).Commands() {
		names = append(names, c.Name())
	}
	for _, name := range []string{"check", "top", "verify", "version"} {
		if !slices.Contains(names, name) {
			t.Errorf("got the commands %v, want %s", names, name)
		}
	}
	if f := command(pluginName).Flags().Lookup("kubeconfig"); f != nil {
		t.Error("the plugin has the flags of a facade")
	}
	if got := output(t, pluginName, "verify", "--help"); !strings.Contains(got, "kubectl listfacade verify [--against FILE]") {
		t.Errorf("got %q, want the usage of the plugin's command", got)
	}
}

// TestUntrustedCertificateHasAdvice: the error about a certificate that does not verify says what to do.
func TestUntrustedCertificateHasAdvice(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	c := command(facadeName)
	c.SetArgs([]string{"top", "--once", "--server", server.URL})
	err := c.ExecuteContext(t.Context())
	if got := advice(err); !strings.Contains(got, "--certificate-authority") {
		t.Errorf("got advice %q about %v, want the flag to set", got, err)
	}
	if got := advice(fmt.Errorf("x: %w", x509.HostnameError{Certificate: server.Certificate(), Host: "other"})); !strings.Contains(got, "--tls-server-name") {
		t.Errorf("got advice %q about another name, want the flag to set", got)
	}
	if got := advice(errors.New("other")); got != "" {
		t.Errorf("got advice %q about another error, want none", got)
	}
}

// Names of objects in errors cannot control the terminal.
func TestErrorsArePrintable(t *testing.T) {
	if got, want := message(errors.New("read shop/\x1b]0;x\u009b:\n\tdamaged")), "read shop/?]0;x?:\n\tdamaged"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
