package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// ErrEnd is the cancellation cause that ends a forwarded response early. The client receives a shorter response without
// an error.
var ErrEnd = errors.New("response ends early")

var errUnsettled = errors.New("the upstream has not yet reported whether the resource is custom")

var (
	errNoCredentials = errors.New("request has no upstream credentials")
	errNotRead       = errors.New("request is not a read")
	errUnaddressable = errors.New("path is not absolute, or query has too many parameters")
)

// RefusedError is returned when the upstream refuses the facade's own user. The body contains that user's name. The
// body may be logged, but must not be sent to clients.
type RefusedError struct {
	Code int    // 401 or 403
	Body []byte // at most 64 KiB
}

func (e *RefusedError) Error() string {
	return "request of the facade's own user was refused: " + (&StatusError{Code: e.Code, Body: e.Body}).Error()
}

// IsRefused reports whether err is a *RefusedError.
func IsRefused(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused)
}

// ImpersonationError is returned when impersonation would give a user an identity that differs from the caller's.
type ImpersonationError struct{ User, Why string }

func (e *ImpersonationError) Error() string {
	return fmt.Sprintf("impersonate %q: %s", e.User, e.Why)
}

// StatusError is returned for a response of the upstream that is not a success.
type StatusError struct {
	Code   int
	Header http.Header
	Body   []byte
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the upstream answered %d: %s", e.Code, strings.TrimSpace(string(e.Body[:min(len(e.Body), 512)])))
}

// HasCode reports whether err is a *StatusError with one of the codes.
func HasCode(err error, codes ...int) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		return false
	}
	return slices.Contains(codes, status.Code)
}

// OversizeError is returned for a response or a review whose body exceeds a limit.
type OversizeError struct {
	Path  string
	Limit int64 // bytes
}

func (e *OversizeError) Error() string {
	return fmt.Sprintf("the body of %s exceeds %d bytes", e.Path, e.Limit)
}

// UnreachableError is returned when the upstream did not answer, or sent a response that must not be forwarded.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string { return "reach the upstream: " + e.Err.Error() }

// Unwrap returns the transport's error.
func (e *UnreachableError) Unwrap() error { return e.Err }

// IsUnreachable reports whether err is an *UnreachableError.
func IsUnreachable(err error) bool {
	var unreachable *UnreachableError
	return errors.As(err, &unreachable)
}
