package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Clients of HAProxy share no HTTP/2 connection while one of them has a request on it. So a client that reads slowly,
// and a connection that the facade closes, do not affect other clients.
func TestProxySharesNoConnections(t *testing.T) {
	config, err := os.ReadFile(filepath.Join("..", "..", "deploy", "haproxy", "haproxy.cfg"))
	if err != nil {
		t.Fatal(err)
	}
	var modes []string
	for _, match := range regexp.MustCompile(`(?m)^\s*http-reuse\s+(\S+)`).FindAllSubmatch(config, -1) {
		modes = append(modes, string(match[1]))
	}
	if !slices.Equal(modes, []string{"safe"}) {
		t.Errorf("got http-reuse %v, want safe, once and for all backends", modes)
	}
}
