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

// Process is a facade in a separate process.
type Process struct {
	Config *rest.Config // for clients of the facade, without credentials

	running *exec.Cmd
	ended   chan struct{} // closed at the end of the output
	killed  bool

	mu   sync.Mutex
	said bytes.Buffer
}

// Kill ends the process immediately, as a crash does.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	if err := p.running.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	_ = p.running.Wait() // it was killed
	p.killed = true
}

var servingAt = regexp.MustCompile(`https://127\.0\.0\.1:\d+`)

// StartProcess compiles the facade and runs it with further flags until the test ends. The test fails if the process
// fails, unless the test has killed it. If line is not nil, it returns the command line to run.
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
	p, address := &Process{running: process, ended: make(chan struct{})}, make(chan string, 1)
	go func() {
		defer close(p.ended)
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
		if p.killed {
			return
		}
		_ = process.Process.Signal(syscall.SIGTERM)
		<-p.ended
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
