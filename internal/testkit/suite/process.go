package suite

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Process is a facade in a separate process, for tests of its memory.
type Process struct {
	Config *rest.Config // for clients of the facade, without credentials

	mu   sync.Mutex
	said bytes.Buffer
}

var servingAt = regexp.MustCompile(`https://127\.0\.0\.1:\d+`)

// StartProcess compiles the program and runs it with further flags until the test ends. The test fails if it ends
// before. line may change the command line; it may be nil.
func StartProcess(t testing.TB, line func(program string, args ...string) []string, kubeconfig string,
	flags ...string) *Process {
	t.Helper()
	dir := t.TempDir()
	program := testkit.Program(t)
	args := append([]string{"--kubeconfig", kubeconfig, "--secure-port", "0", "--cert-dir", dir,
		"--anonymous-acts-as-kubeconfig", "--shutdown-delay-duration", "0"}, flags...)
	command := append([]string{program}, args...)
	if line != nil {
		command = line(program, args...)
	}
	process := exec.Command(command[0], command[1:]...) //nolint:gosec // the test's own command
	stderr, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	p, address, done := new(Process), make(chan string, 1), make(chan struct{})
	go func() {
		defer close(done)
		defer close(address)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.note(lines.Text())
			if at := servingAt.FindString(lines.Text()); at != "" && len(address) == 0 &&
				strings.Contains(lines.Text(), "Serving") {
				address <- at
			}
		}
	}()
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		<-done
		if err := process.Wait(); err != nil {
			t.Errorf("the facade ended with %v", err)
		}
		if t.Failed() {
			t.Logf("it said\n%s", p.Said())
		}
	})
	host, ok := <-address
	if !ok {
		t.Fatal("the facade does not serve")
	}
	p.Config = &rest.Config{Host: host,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "listfacade.crt")}, QPS: -1}
	return p
}

func (p *Process) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said.WriteString(line + "\n")
}

// Said returns the output of the process so far.
func (p *Process) Said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}
