package facade

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap/zaptest"
	"k8s.io/client-go/rest"
)

// When the process has ended, the file contains what the policy requires of each request. An invalid policy is an error
// at the start.
func TestAuditLog(t *testing.T) {
	dir := t.TempDir()
	policy, path := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	write := func(text string) {
		if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
	f := alone(t, func(c *Config) {
		c.Audit.PolicyFile, c.Audit.Path = policy, path
		c.Authentication.AnonymousActsAsKubeconfig = true
	})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	listener := listen(t, f)
	go func() { served <- f.Serve(ctx, listener) }()
	for range 5 {
		ask(t, listener, "/livez")
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), `"stage":"ResponseComplete"`) != 5 {
		t.Errorf("%v: %s", err, text)
	}
	write("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Everything}]\n")
	c := f.config
	if _, err := New(t.Context(), c, &rest.Config{Host: "https://127.0.0.1:1"}, zaptest.NewLogger(t)); err == nil || !strings.Contains(err.Error(), "--audit-policy-file") {
		t.Errorf("got %v for an invalid policy", err)
	}
}
