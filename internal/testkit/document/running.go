package document

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Running is a command in the foreground, as in a terminal: it and the processes that it starts are one process group.
type Running struct {
	process *exec.Cmd
	ended   chan struct{} // closed when the command has ended, after err was set
	err     error

	mu   sync.Mutex
	text bytes.Buffer
}

// Start runs commands until the test ends.
func (s *Shell) Start(t testing.TB, commands ...string) *Running {
	t.Helper()
	r := &Running{process: s.Command(t.Context(), commands...), ended: make(chan struct{})}
	r.process.Stdout, r.process.Stderr = r, r
	if err := r.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		r.err = r.process.Wait()
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-r.process.Process.Pid, syscall.SIGKILL) // if the group has ended, this is an error
		<-r.ended
		if text := r.Output(); t.Failed() {
			t.Logf("%s said\n%s", strings.Join(commands, "\n"), text[max(len(text)-16<<10, 0):])
		}
	})
	return r
}

// Write implements io.Writer for the output of the process.
func (r *Running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// Output returns what the commands have printed so far.
func (r *Running) Output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// Await waits until the commands have printed a text, and returns their output.
func (r *Running) Await(t testing.TB, text string) string {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("the command prints %q", text), func() error {
		if strings.Contains(r.Output(), text) {
			return nil
		}
		select {
		case <-r.ended:
			t.Fatalf("the command ended: %v\n%s", r.err, r.Output())
		default:
		}
		return errors.New(r.Output())
	})
	return r.Output()
}

// Interrupt sends SIGINT to the process group, as Ctrl-C does, and waits until the command and the group have ended.
func (r *Running) Interrupt(t testing.TB) {
	t.Helper()
	group := -r.process.Process.Pid
	if err := syscall.Kill(group, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the process group has ended", func() error {
		select {
		case <-r.ended:
		default:
			return errors.New("the command still runs")
		}
		if err := syscall.Kill(group, 0); !errors.Is(err, syscall.ESRCH) {
			return errors.New("a process of the group still runs")
		}
		return nil
	})
}
