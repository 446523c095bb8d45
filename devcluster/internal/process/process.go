package process

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// State is the state of a process.
type State string

// The states. A process that exited unexpectedly is Dead; after Stop, Kill or Close it is Stopped.
const (
	Running State = "running"
	Paused  State = "paused"
	Stopped State = "stopped"
	Dead    State = "dead"
)

// Spec is the command of a process and its readiness check.
type Spec struct {
	Name        string
	Path        string
	Args        []string
	Env         []string // additional environment variables, as NAME=value
	LogFile     string   // output is appended to it
	Ready       func(context.Context) error
	ReadyWithin time.Duration
}

// Status is the state of a process at one moment.
type Status struct {
	PID   int   `json:"pid"` // 0 when the process is not running
	State State `json:"state"`
}

// Process is one server, whether it is running or not. Its methods are safe for concurrent use. Start, Stop and Kill
// wait for each other.
type Process struct {
	spec    Spec
	spawner *Spawner
	failed  func(error)

	turn sync.Mutex // serializes Start, Stop and Kill

	mu     sync.Mutex
	child  *child // guarded by mu; nil before the first start
	state  State  // guarded by mu
	closed bool   // guarded by mu
}

// New returns a stopped process. If the process exits unexpectedly, a separate goroutine calls failed with a
// *DeathError, once for each run. failed must not call methods of the process.
func New(spec Spec, spawner *Spawner, failed func(error)) *Process {
	return &Process{spec: spec, spawner: spawner, failed: failed, state: Stopped}
}

// Start runs the process and waits until it is ready. It fails with *StateError when the process is already running,
// *NotReadyError after the timeout, *DeathError when the process exits before it is ready, and ErrClosed after Close.
func (p *Process) Start(ctx context.Context) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	c, err := p.launch()
	if err != nil {
		return err
	}
	return p.waitReady(ctx, c)
}

// Stop ends the process with SIGTERM and waits for it. If ctx ends first, it uses SIGKILL.
func (p *Process) Stop(ctx context.Context) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	c, err := p.end("stop", syscall.SIGTERM)
	if err != nil {
		return err
	}
	select {
	case <-c.exited:
		return nil
	case <-ctx.Done():
		c.signal(syscall.SIGKILL)
		<-c.exited
		return fmt.Errorf("%s did not end after SIGTERM and was killed: %w", p.spec.Name, context.Cause(ctx))
	}
}

// Kill ends the process with SIGKILL and waits for it.
func (p *Process) Kill() error {
	p.turn.Lock()
	defer p.turn.Unlock()
	c, err := p.end("kill", syscall.SIGKILL)
	if err != nil {
		return err
	}
	<-c.exited
	return nil
}

// Pause suspends the process with SIGSTOP. Its sockets stay open, but it does not respond.
func (p *Process) Pause() error { return p.signal("pause", syscall.SIGSTOP, Running, Paused) }

// Continue resumes a paused process with SIGCONT.
func (p *Process) Continue() error { return p.signal("continue", syscall.SIGCONT, Paused, Running) }

// Close kills the process if it is running, and waits for it. The process cannot be started again.
func (p *Process) Close() {
	p.mu.Lock()
	p.closed = true
	c := p.child
	if c != nil {
		c.asked = true
		c.signal(syscall.SIGKILL)
	}
	p.mu.Unlock()
	if c != nil {
		<-c.exited
	}
}

// Status returns the current state of the process.
func (p *Process) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == Running || p.state == Paused {
		return Status{PID: p.child.command.Process.Pid, State: p.state}
	}
	return Status{State: p.state}
}
