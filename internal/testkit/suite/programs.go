package suite

import (
	"os"
	"os/exec"
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

// Promtool is Debian's, else the machine's.
func Promtool(t testing.TB) string {
	t.Helper()
	program := filepath.Join(Programs, "debian", "usr", "bin", "promtool")
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("promtool"); err != nil {
			MayMiss(t, "there is no promtool")
			t.Skip("there is no promtool")
		}
	}
	program, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	return program
}
