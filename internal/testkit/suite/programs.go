package suite

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Programs is the directory of programs for tests, relative to a suite's directory.
var Programs = filepath.Join("..", "..", "bin")

// requireClients is the environment variable that makes tests fail if a client is missing. Without it, the tests are
// skipped.
const requireClients = "LISTFACADE_REQUIRE_CLIENTS"

// MayMiss fails the test if clients are required. Otherwise the caller skips the missing client.
func MayMiss(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(requireClients) != "" {
		t.Fatalf("%s is set: %s", requireClients, why)
	}
}

// Python returns a python3 with the module kubernetes: from PATH, or else the system's python3, for which Debian has
// the module. If neither has the module, the test is skipped.
func Python(t testing.TB) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import kubernetes").Run() == nil {
			return python
		}
	}
	const why = "no python3 has the module kubernetes"
	MayMiss(t, why)
	t.Skip(why)
	return ""
}

// Promtool returns the path of promtool: Debian's package, or the one in PATH.
func Promtool(t testing.TB) string {
	t.Helper()
	program := filepath.Join(Programs, "debian", "usr", "bin", "promtool")
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("promtool"); err != nil {
			MayMiss(t, "promtool is not installed")
			t.Skip("promtool is not installed")
		}
	}
	program, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	return program
}
