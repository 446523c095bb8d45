package auth

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrUnauthenticated says that credentials were sent that prove nobody, or none where the upstream wants some.
var ErrUnauthenticated = errors.New("the credentials prove nobody")

// ErrForeign says that a request came by a name, or from a page, that is not of this machine.
var ErrForeign = errors.New("not from this machine")

// ErrRevoked says that a right which a watch was opened with is there no more, or its credential.
var ErrRevoked = errors.New("the right to watch has ended")

// ErrStale says that the upstream allowed the read, but has not been heard for longer since than may be.
var ErrStale = errors.New("the upstream has not been heard for too long to believe what it allowed")

// DeniedError says that the upstream's authorizers did not allow a request.
type DeniedError struct {
	Reason string // in the authorizers' words; often empty
}

func (e *DeniedError) Error() string { return "the upstream's authorizer did not allow the read" }

// UnavailableError says that the upstream could not be asked.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return "ask the upstream's authorizer: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// InvalidError says that the upstream found a caller's own review to be none that it can answer.
type InvalidError struct {
	Answer metav1.Status // the upstream's, of 400 or 422
}

func (e *InvalidError) Error() string {
	return "the upstream cannot answer the review: " + e.Answer.Message
}

// BusyError says that somebody asked for more than their share.
type BusyError struct {
	After time.Duration // when to come back; above 0
}

func (e *BusyError) Error() string { return "too many requests at once" }

// IsDenied tells a refusal from what stands for the lack of an answer.
func IsDenied(err error) bool {
	var denied *DeniedError
	return errors.As(err, &denied)
}
