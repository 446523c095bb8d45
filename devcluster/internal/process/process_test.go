package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// patience is longer than any script of these tests takes on a busy machine.
const patience = time.Minute

// shell makes a process that runs a script and is ready when ready returns nil.
func shell(t *testing.T, script string, within time.Duration, ready func(context.Context) error) (p *process.Process, died <-chan error) {
	t.Helper()
	spawner := process.NewSpawner()
	t.Cleanup(spawner.Close)
	deaths := make(chan error, 1)
	p = process.New(process.Spec{
		Name: "server", Path: "/bin/sh", Args: []string{"-c", script}, LogFile: filepath.Join(t.TempDir(), "server.log"),
		Ready: ready, ReadyWithin: within,
	}, spawner, func(err error) { deaths <- err })
	t.Cleanup(p.Close)
	return p, deaths
}

func always(context.Context) error { return nil }

func TestDeathWhileStarting(t *testing.T) {
	p, died := shell(t, "echo first; echo bad flag >&2; exit 3", patience, func(context.Context) error { return errors.New("no answer") })
	var death *process.DeathError
	if err := p.Start(t.Context()); !errors.As(err, &death) {
		t.Fatalf("Start returned %v", err)
	}
	if death.Status != "exit status 3" || death.Tail != "first\nbad flag" {
		t.Errorf("got %+v", death)
	}
	if err := <-died; !errors.As(err, &death) {
		t.Errorf("got reported error %v", err)
	}
	if state := p.Status().State; state != process.Dead {
		t.Errorf("the state is %s", state)
	}
}

func TestStartFailsAfterReadyWithin(t *testing.T) {
	cause := errors.New("no answer")
	marker := filepath.Join(t.TempDir(), "said")
	p, _ := shell(t, "echo waiting; touch "+marker+"; exec sleep 100", 100*time.Millisecond, func(context.Context) error {
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		for deadline := time.Now().Add(patience); ; <-again.C { // it is late, and has said something by then
			if _, err := os.Stat(marker); err == nil || time.Now().After(deadline) {
				return cause
			}
		}
	})
	err := p.Start(t.Context())
	var late *process.NotReadyError
	if !errors.As(err, &late) || !errors.Is(err, cause) || late.Tail != "waiting" {
		t.Errorf("Start returned %v", err)
	}
}

func TestLifeCycle(t *testing.T) {
	p, died := shell(t, "exec sleep 100", patience, always)
	var state *process.StateError
	if err := p.Kill(); !errors.As(err, &state) || state.State != process.Stopped {
		t.Errorf("Kill before Start returned %v", err)
	}
	for _, step := range []struct {
		name string
		do   func() error
		want process.State
	}{
		{"start", func() error { return p.Start(t.Context()) }, process.Running},
		{"pause", p.Pause, process.Paused},
		{"stop while paused", func() error { return p.Stop(t.Context()) }, process.Stopped},
		{"start again", func() error { return p.Start(t.Context()) }, process.Running},
		{"pause again", p.Pause, process.Paused},
		{"continue", p.Continue, process.Running},
		{"kill", p.Kill, process.Stopped},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		status := p.Status()
		if status.State != step.want {
			t.Fatalf("after %s the process is %s", step.name, status.State)
		}
		if runs := step.want != process.Stopped; (status.PID != 0) != runs {
			t.Errorf("after %s the process id is %d", step.name, status.PID)
		}
	}
	select {
	case err := <-died:
		t.Errorf("an intended exit was reported: %v", err)
	default:
	}
	p.Close()
	if err := p.Start(t.Context()); !errors.Is(err, process.ErrClosed) {
		t.Errorf("Start after Close returned %v", err)
	}
}

func TestStopKillsAProcessThatIgnoresSIGTERM(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "deaf")
	p, _ := shell(t, "trap '' TERM; touch "+marker+"; while :; do sleep 1; done", patience, func(context.Context) error {
		_, err := os.Stat(marker)
		return err
	})
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) //pace: the process ignores SIGTERM
	defer cancel()
	if err := p.Stop(ctx); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("Stop returned %v", err)
	}
	if state := p.Status().State; state != process.Stopped {
		t.Errorf("the state is %s", state)
	}
}
