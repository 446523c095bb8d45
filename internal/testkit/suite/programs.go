package suite

import (
	"os"
	"path/filepath"
	"testing"
)

// Programs is where programs are that were compiled or unpacked for tests, seen from a suite's directory.
var Programs = filepath.Join("..", "..", "bin")

// requireClients is set where a missing client must fail rather than be left out.
const requireClients = "LISTFACADE_REQUIRE_CLIENTS"

// MayMiss fails the test if clients that are not installed are not to be left out.
func MayMiss(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(requireClients) != "" {
		t.Fatalf("%s is set: %s", requireClients, why)
	}
}
