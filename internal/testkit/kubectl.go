package testkit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Kubectl runs the real kubectl against one server.
type Kubectl struct {
	binary, kubeconfig, cache string
}

// NewKubectl returns a kubectl for the server of a client configuration, with a separate discovery cache.
func NewKubectl(t testing.TB, binary string, config *rest.Config) *Kubectl {
	t.Helper()
	return &Kubectl{binary: binary, kubeconfig: WriteKubeconfig(t, config), cache: t.TempDir()}
}

func (k *Kubectl) command(ctx context.Context, args []string) *exec.Cmd {
	return exec.CommandContext(ctx, k.binary,
		append([]string{"--kubeconfig", k.kubeconfig, "--cache-dir", k.cache}, args...)...)
}

// Run runs a command and returns stdout, stderr and exit code as one text.
func (k *Kubectl) Run(t testing.TB, args ...string) string {
	t.Helper()
	command := k.command(t.Context(), args)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return fmt.Sprintf("%s--- stderr\n%s--- exit code %d\n", &stdout, &stderr, command.ProcessState.ExitCode())
}

// Follow runs a command until the test ends, and returns a channel with the lines of its stdout.
func (k *Kubectl) Follow(t testing.TB, args ...string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	command := k.command(ctx, args)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines, done := make(chan string, 1000), make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = command.Wait() // the command was killed
	})
	return lines
}

// Kubectls are two kubectls, one for kube-apiserver and one for the facade.
type Kubectls struct {
	Upstream, Facade *Kubectl
}

// Compare runs a command with both servers and reports a difference. It repeats the command if objects change
// meanwhile, like Oracle.Compare.
func (k *Kubectls) Compare(t testing.TB, args ...string) {
	t.Helper()
	k.CompareMasked(t, func(text string) string { return text }, args...)
}

// CompareMasked is Compare of masked texts. On a busy machine a command may take longer than a second. Therefore an age
// may be between the ages that the upstream prints before and after.
func (k *Kubectls) CompareMasked(t testing.TB, mask func(string) string, args ...string) {
	t.Helper()
	deadline := time.Now().Add(settings.Patience())
	before := mask(k.Upstream.Run(t, args...))
	for {
		got := mask(k.Facade.Run(t, args...))
		if got == before {
			return
		}
		after := mask(k.Upstream.Run(t, args...))
		if got == after {
			return
		}
		if sameButAges(before, got, after) {
			return
		}
		if before == after || time.Now().After(deadline) {
			t.Errorf("kubectl %s (-upstream +facade):\n%s", strings.Join(args, " "),
				cmp.Diff(strings.Split(after, "\n"), strings.Split(got, "\n")))
			return
		}
		before = after
	}
}
