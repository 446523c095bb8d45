package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// ErrEnd is the cause to end a request's context with when the answer may end where it is: its copy then ends as a
// whole one.
var ErrEnd = errors.New("the answer ends here")

// errUnsettled says that it is not known yet whether a resource is custom.
var errUnsettled = errors.New("the upstream did not say in time whether the resource is a custom one")

// errNobody is a request in nobody's name; errNoRead one that would change something; errUnaddressable one whose path
// or query would be read in two ways.
var (
	errNobody        = errors.New("nobody asks")
	errNoRead        = errors.New("not a read")
	errUnaddressable = errors.New("no path or query of the upstream's")
)

// RefusedError says that the upstream did not let the facade's own user speak, for itself or for somebody else. Its
// body names that user and is for the log.
type RefusedError struct {
	Code int    // 401 or 403
	Body []byte // at most 64 KiB
}

func (e *RefusedError) Error() string {
	return "the facade's own user: " + (&StatusError{Code: e.Code, Body: e.Body}).Error()
}

// IsRefused tells whether err is a *RefusedError.
func IsRefused(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused)
}

// NotSentError says that a question was not sent, because more were to be than are.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return "wait for the turn of a question: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *NotSentError) Unwrap() error { return e.Err }

// NotSent tells it from what is wrong with the upstream.
func (e *NotSentError) NotSent() {}

// ImpersonationError says that no impersonation would have exactly a user's rights.
type ImpersonationError struct{ User, Why string }

func (e *ImpersonationError) Error() string {
	return fmt.Sprintf("impersonate %q: %s", e.User, e.Why)
}

// StatusError is an answer of the upstream that is not a success. Body holds its Status object, at most 64 KiB.
type StatusError struct {
	Code   int
	Header http.Header
	Body   []byte
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the upstream answered %d: %s", e.Code, strings.TrimSpace(string(e.Body[:min(len(e.Body), 512)])))
}

// HasCode tells whether err is an answer of the upstream with one of these codes.
func HasCode(err error, codes ...int) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		return false
	}
	return slices.Contains(codes, status.Code)
}

// OversizeError is an answer that is longer than whoever asked can use, or a question that is longer than any.
type OversizeError struct {
	Path  string
	Limit int64 // bytes
}

func (e *OversizeError) Error() string {
	return fmt.Sprintf("the body of %s exceeds %d bytes", e.Path, e.Limit)
}

// UnreachableError says that the upstream gave no answer to a request that was passed through.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string { return "reach the upstream: " + e.Err.Error() }

// Unwrap returns the transport's error.
func (e *UnreachableError) Unwrap() error { return e.Err }

// IsUnreachable tells whether err says that the upstream gave no answer.
func IsUnreachable(err error) bool {
	var unreachable *UnreachableError
	return errors.As(err, &unreachable)
}
