package auth

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrUnauthenticated is returned for invalid credentials, and for missing ones if anonymous requests are refused.
var ErrUnauthenticated = errors.New("invalid or missing credentials")

// ErrNotLocal is returned for a request to a name, or from a web page, that is not local to this machine.
var ErrNotLocal = errors.New("request is not local to this machine")

// ErrRevoked is returned when the permission or the credential of a watch has ended.
var ErrRevoked = errors.New("watch authorization has ended")

// ErrStale is returned when the upstream allowed the read, but has not answered for longer than permitted.
var ErrStale = errors.New("cached permission is too old: the upstream has not responded for too long")

// DeniedError is returned when the upstream's authorizers did not allow a request.
type DeniedError struct {
	Reason string // from the authorizers; often empty
}

func (e *DeniedError) Error() string { return "request not allowed by the upstream's authorizer" }

// UnavailableError is returned when the upstream could not review the credentials or the request.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string {
	return "authentication or authorization unavailable: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// InvalidError is returned when the upstream rejected a caller's own access review as invalid.
type InvalidError struct {
	Answer metav1.Status // Status of the upstream, with code 400 or 422
}

func (e *InvalidError) Error() string {
	return "access review rejected as invalid: " + e.Answer.Message
}

// BusyError is returned when a source has too many failed logins, or when a review cannot begin in time.
type BusyError struct {
	After time.Duration // delay before a retry; above 0
	share string        // Caller.Share of the caller; empty if unknown
}

func (e *BusyError) Error() string { return "too many reviews or failed logins" }

// IsDenied reports whether an error is a refusal by the authorizer, not the lack of an answer.
func IsDenied(err error) bool {
	var denied *DeniedError
	return errors.As(err, &denied)
}
