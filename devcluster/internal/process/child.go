package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// readyEvery is the interval of readiness checks. A start takes a few seconds.
const readyEvery = 50 * time.Millisecond

type child struct {
	command *exec.Cmd
	exited  chan struct{} // closed by the goroutine that waits for the child
	asked   bool          // whether Stop, Kill or Close was called; guarded by Process.mu
}

// signal sends a signal unless the child has been reaped.
func (c *child) signal(signal syscall.Signal) {
	_ = c.command.Process.Signal(signal) // fails only if the child has exited, which wait reports
}

func (p *Process) launch() (*child, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.state == Running || p.state == Paused {
		return nil, &StateError{Name: p.spec.Name, Action: "start", State: p.state}
	}
	log, err := os.OpenFile(p.spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", p.spec.Name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor by then
	command := exec.Command(p.spec.Path, p.spec.Args...)
	command.Stdout, command.Stderr = log, log
	command.Env = append(os.Environ(), p.spec.Env...)
	if err := p.spawner.start(command); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	c := &child{command: command, exited: make(chan struct{})}
	p.child, p.state = c, Running
	go p.wait(c)
	return c, nil
}

// wait reaps the child. Only wait changes the state from Running or Paused to Stopped or Dead.
func (p *Process) wait(c *child) {
	_ = c.command.Wait() // the exit status is in ProcessState
	p.mu.Lock()
	asked := c.asked
	p.state = Stopped
	if !asked {
		p.state = Dead
	}
	p.mu.Unlock()
	close(c.exited)
	if !asked {
		p.failed(p.death(c))
	}
}

func (p *Process) death(c *child) error {
	return &DeathError{Name: p.spec.Name, Status: c.command.ProcessState.String(), LogFile: p.spec.LogFile,
		Tail: tail(p.spec.LogFile)}
}

// end sends a signal that ends the child, and records that the end is intended.
func (p *Process) end(action string, signal syscall.Signal) (*child, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != Running && p.state != Paused {
		return nil, &StateError{Name: p.spec.Name, Action: action, State: p.state}
	}
	p.child.asked = true
	p.child.signal(signal)
	if p.state == Paused && signal != syscall.SIGKILL {
		p.child.signal(syscall.SIGCONT) // a stopped process cannot handle the signal
	}
	return p.child, nil
}

func (p *Process) signal(action string, signal syscall.Signal, from, to State) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != from {
		return &StateError{Name: p.spec.Name, Action: action, State: p.state}
	}
	p.child.signal(signal)
	p.state = to
	return nil
}

func (p *Process) waitReady(ctx context.Context, c *child) error {
	ctx, cancel := context.WithTimeout(ctx, p.spec.ReadyWithin)
	defer cancel()
	retry := time.NewTicker(readyEvery)
	defer retry.Stop()
	for {
		err := p.spec.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-c.exited:
			return p.death(c)
		case <-ctx.Done():
			return &NotReadyError{
				Name: p.spec.Name, Within: p.spec.ReadyWithin.String(), Cause: err,
				LogFile: p.spec.LogFile, Tail: tail(p.spec.LogFile),
			}
		case <-retry.C:
		}
	}
}
