package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestProxySharesNoConnections: clients of HAProxy share no connection of HTTP/2 while one of them has a request on it.
// So a client that reads slowly, and a connection that the facade gives up, concern that client alone.
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
