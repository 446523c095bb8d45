package document

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// Shell runs commands of a document with bash, in a directory and with an environment of their own.
type Shell struct {
	Dir string
	Env []string
	// Names maps names in commands to the names that a test uses instead.
	Names map[string]string
}

// NewShell returns a Shell with a new home and working directory. programs are directories, which come first in PATH.
func NewShell(t testing.TB, kubeconfig string, programs ...string) *Shell {
	t.Helper()
	path := strings.Join(append(programs, os.Getenv("PATH")), string(os.PathListSeparator))
	return &Shell{Dir: t.TempDir(), Env: append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir(), "PATH="+path)}
}

// Command returns a process that runs commands, in a process group of its own.
func (s *Shell) Command(ctx context.Context, commands ...string) *exec.Cmd {
	var names []string
	for name, own := range s.Names {
		names = append(names, name, own)
	}
	script := strings.NewReplacer(names...).Replace(strings.Join(commands, "\n"))
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	command.Dir, command.Env = s.Dir, s.Env
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	return command
}

// Try runs commands and returns their stdout. An error contains their output. A warning of kubectl is an error.
func (s *Shell) Try(t testing.TB, commands ...string) (string, error) {
	t.Helper()
	command := s.Command(t.Context(), commands...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err == nil && strings.Contains(stderr.String(), "Warning:") {
		err = fmt.Errorf("got a warning")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(commands, "\n"), err, out, &stderr)
	}
	return string(out), err
}

// Run runs commands, which must succeed, and returns their stdout.
func (s *Shell) Run(t testing.TB, commands ...string) string {
	t.Helper()
	out, err := s.Try(t, commands...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
