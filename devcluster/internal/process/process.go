package process

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// State is what a process is doing.
type State string

// The states. A process that ended by itself is Dead, one that was told to end is Stopped.
const (
	Running State = "running"
	Paused  State = "paused"
	Stopped State = "stopped"
	Dead    State = "dead"
)

// Spec says what to run, and how to see that it is ready.
type Spec struct {
	Name        string
	Path        string // the binary
	Args        []string
	Env         []string // further variables of the environment, as NAME=value
	LogFile     string   // output is appended to it
	Ready       func(context.Context) error
	ReadyWithin time.Duration
}

// Status is what a process is doing at one moment.
type Status struct {
	PID   int   `json:"pid"` // 0 when it does not run
	State State `json:"state"`
}

// Process is one server, whether it runs at the moment or not. Its methods may be called from any goroutine; Start,
// Stop, Kill and Close wait for each other.
type Process struct {
	spec    Spec
	spawner *Spawner
	failed  func(error)

	turn sync.Mutex // held by the method that changes what runs

	mu     sync.Mutex
	child  *child // guarded by mu; nil before the first start
	state  State  // guarded by mu
	closed bool   // guarded by mu
}

// New makes a stopped process. failed is called at most once a run, from its own goroutine, with a *DeathError when the
// process ends although nobody asked; it must not call back into the process.
func New(spec Spec, spawner *Spawner, failed func(error)) *Process {
	return &Process{spec: spec, spawner: spawner, failed: failed, state: Stopped}
}

// Start runs the process and waits until it is ready. It fails with *StateError when the process runs already,
// *NotReadyError when it is not ready in time, *DeathError when it ended before that, ErrClosed after Close.
func (p *Process) Start(ctx context.Context) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	c, err := p.launch()
	if err != nil {
		return err
	}
	return p.waitReady(ctx, c)
}

// Stop ends the process with SIGTERM and waits for it; when ctx ends first, with SIGKILL.
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
		return fmt.Errorf("%s was killed, it did not end by itself: %w", p.spec.Name, context.Cause(ctx))
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

// Pause freezes the process with SIGSTOP: its sockets stay open and nothing answers.
func (p *Process) Pause() error { return p.signal("pause", syscall.SIGSTOP, Running, Paused) }

// Continue resumes a paused process with SIGCONT.
func (p *Process) Continue() error { return p.signal("continue", syscall.SIGCONT, Paused, Running) }

// Close kills the process if it runs and waits for it. It cannot be started again.
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

// Status tells what the process is doing.
func (p *Process) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == Running || p.state == Paused {
		return Status{PID: p.child.command.Process.Pid, State: p.state}
	}
	return Status{State: p.state}
}
