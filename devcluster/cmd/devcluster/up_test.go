package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/listfacade/listfacade/devcluster"
)

// running is a "devcluster up" of its own process.
type running struct {
	command *exec.Cmd
	stdin   io.Closer
	info    devcluster.Info
}

// compileCommand builds the command that is under test.
func compileCommand(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "devcluster")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// startUp runs the command and waits for its line of JSON.
func startUp(t *testing.T, path string) *running {
	t.Helper()
	r := &running{command: exec.Command(path, "up", "--components=none", "--json", "--exit-with-stdin")}
	r.command.Stderr = os.Stderr
	stdout, err := r.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if r.stdin, err = r.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.command.Process.Kill() }) // already gone unless the test failed
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("read the line of JSON: %v", err)
	}
	if err := json.Unmarshal(line, &r.info); err != nil {
		t.Fatalf("decode %s: %v", line, err)
	}
	if len(r.info.Processes) != 2 {
		t.Fatalf("processes are %v, want etcd and kube-apiserver", r.info.Processes)
	}
	return r
}

// TestNothingOutlivesTheCommand ends the command in every possible way. Children are ours only by their process ids, so
// the test looks for those.
func TestNothingOutlivesTheCommand(t *testing.T) {
	path := compileCommand(t)
	for _, c := range []struct {
		name      string
		end       func(*running) error
		dirStays  bool // no process remains to remove it
		wantClean bool // the exit status is 0
	}{
		{name: "SIGKILL", end: func(r *running) error { return r.command.Process.Kill() }, dirStays: true},
		{name: "SIGTERM", end: func(r *running) error { return r.command.Process.Signal(syscall.SIGTERM) }, wantClean: true},
		{name: "stdin", end: func(r *running) error { return r.stdin.Close() }, wantClean: true},
		{name: "child dies", end: func(r *running) error { return syscall.Kill(r.info.Processes["etcd"].PID, syscall.SIGKILL) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "SIGKILL" {
				t.Skip("a part of make test-long")
			}
			t.Parallel()
			r := startUp(t, path)
			if err := c.end(r); err != nil {
				t.Fatal(err)
			}
			if err := r.command.Wait(); (err == nil) != c.wantClean {
				t.Errorf("unexpected exit: %v", err)
			}
			for name, p := range r.info.Processes {
				waitGone(t, name, p.PID)
			}
			_, err := os.Stat(r.info.Dir)
			if !c.dirStays && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("unexpected directory after the exit: %v", err)
			}
			if c.dirStays {
				if err := os.RemoveAll(r.info.Dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// waitGone waits until a process is dead. An orphan may stay a zombie until init looks, which is dead enough.
func waitGone(t *testing.T, name string, pid int) {
	t.Helper()
	deadline := time.NewTimer(6 * time.Minute)
	defer deadline.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for alive(pid) {
		select {
		case <-deadline.C:
			t.Fatalf("%s (process %d) outlived the command", name, pid)
		case <-again.C:
		}
	}
}

func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(string(out), "Z")
}
