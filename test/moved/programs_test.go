package moved

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// compiled compiles a module below test/clients, unless that has been done, and returns the path of the program.
func compiled(t *testing.T, module string) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(suite.Programs, module))
	if err != nil {
		t.Fatal(err)
	}
	if err := testkit.Compile(t.Context(), filepath.Join("..", "clients", module), program, ".", testkit.Quickly()...); err != nil {
		t.Fatal(err)
	}
	return program
}

// compiledBefore returns the path of a program of a module whose compilation takes minutes, so that only `make clients`
// compiles it. Without the program it skips the test.
func compiledBefore(t *testing.T, module string) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(suite.Programs, module))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		suite.MayMiss(t, module+" is not compiled: run `make clients`")
		t.Skip(module + " is not compiled: run `make clients`")
	}
	return program
}

// output is what a program prints. Safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs a program until the test ends, in an empty directory, and prints its output if the test fails.
func start(t *testing.T, environment []string, program string, args ...string) *output {
	t.Helper()
	said, command := &output{}, exec.Command(program, args...)
	command.Dir, command.Env = t.TempDir(), append(os.Environ(), environment...)
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		if text := said.String(); t.Failed() {
			t.Logf("%s said\n%s", filepath.Base(program), text[max(len(text)-16<<10, 0):])
		}
	})
	return said
}
