package process

import (
	"errors"
	"fmt"
)

// ErrClosed says that the process was closed and cannot be started any more.
var ErrClosed = errors.New("process is closed")

// StateError says that what was asked does not fit the state that the process is in.
type StateError struct {
	Name   string
	Action string
	State  State
}

func (e *StateError) Error() string {
	return fmt.Sprintf("cannot %s %s: it is %s", e.Action, e.Name, e.State)
}

// DeathError says that a process ended although nobody asked it to. It carries the end of its log.
type DeathError struct {
	Name    string
	Status  string // the exit status in words
	LogFile string
	Tail    string
}

func (e *DeathError) Error() string {
	return fmt.Sprintf("%s ended unexpectedly (%s); the end of %s:\n%s", e.Name, e.Status, e.LogFile, e.Tail)
}

// NotReadyError says that a process did not become ready in time. It carries the end of its log.
type NotReadyError struct {
	Name    string
	Within  string // how long was waited, in words
	Cause   error  // why the last check failed
	LogFile string
	Tail    string
}

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("%s was not ready within %s (%v); the end of %s:\n%s", e.Name, e.Within, e.Cause, e.LogFile, e.Tail)
}

func (e *NotReadyError) Unwrap() error { return e.Cause }
