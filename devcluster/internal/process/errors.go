package process

import (
	"errors"
	"fmt"
)

// ErrClosed is returned when a closed process is started.
var ErrClosed = errors.New("process is closed")

// StateError is returned when the state of a process does not allow an action.
type StateError struct {
	Name   string
	Action string
	State  State
}

func (e *StateError) Error() string {
	return fmt.Sprintf("cannot %s %s in state %s", e.Action, e.Name, e.State)
}

// DeathError reports that a process exited unexpectedly. Tail is the end of the process's log.
type DeathError struct {
	Name    string
	Status  string // exit status as text
	LogFile string
	Tail    string
}

func (e *DeathError) Error() string {
	return fmt.Sprintf("%s exited unexpectedly (%s); the end of %s:\n%s", e.Name, e.Status, e.LogFile, e.Tail)
}

// NotReadyError reports that a process did not become ready within the timeout. Tail is the end of the process's log.
type NotReadyError struct {
	Name    string
	Within  string // timeout as text
	Cause   error  // error of the last readiness check
	LogFile string
	Tail    string
}

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("%s was not ready within %s (%v); the end of %s:\n%s", e.Name, e.Within, e.Cause, e.LogFile, e.Tail)
}

func (e *NotReadyError) Unwrap() error { return e.Cause }
