package suite

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Compiled compiles a module below test/clients if it has changed, and returns the path of the program.
func Compiled(t testing.TB, module string) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(Programs, module))
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join("..", "clients", module)
	if err := testkit.Compile(t.Context(), source, program, ".", testkit.Quickly()...); err != nil {
		t.Fatal(err)
	}
	return program
}

// CompiledBefore returns the path of a program of a module whose compilation takes minutes, so that only `make clients`
// compiles it. Without the program it skips the test.
func CompiledBefore(t testing.TB, module string) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(Programs, module))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		MayMiss(t, module+" is not compiled: run `make clients`")
		t.Skip(module + " is not compiled: run `make clients`")
	}
	return program
}

// Output collects what a program prints. It is safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Launch runs a program until the test ends, in an empty directory, and prints its output if the test fails. The
// program's standard input stays open and empty.
func Launch(t testing.TB, program string, args ...string) *Output {
	t.Helper()
	printed, command := &Output{}, exec.Command(program, args...)
	command.Dir, command.Stdout, command.Stderr = t.TempDir(), printed, printed
	if _, err := command.StdinPipe(); err != nil { // Wait closes it
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		if text := printed.String(); t.Failed() {
			t.Logf("%s printed\n%s", filepath.Base(program), text[max(len(text)-16<<10, 0):])
		}
	})
	return printed
}
